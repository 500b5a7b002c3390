//! What every event bus promises.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;

use super::{Case, cases, kept};
use crate::ports::{Announcement, EventBus, Heard};

/// The promises of an [`EventBus`].
pub const EVENT_BUS: &[Case<dyn EventBus>] = cases![
    nobody_need_listen,
    all_subscribers_hear_in_order,
    a_slow_subscriber_is_told_and_hears_on,
];

fn announcement(sequence: u64) -> Announcement {
    Announcement { sequence, hint: Bytes::from(sequence.to_string()) }
}

async fn nobody_need_listen(bus: Arc<dyn EventBus>) {
    kept("nobody need listen", bus.publish("contract.alone", announcement(1)).await);
    let gone = kept("subscribe", bus.subscribe("contract.alone").await);
    drop(gone);
    kept("nobody need listen any more", bus.publish("contract.alone", announcement(2)).await);
}

async fn all_subscribers_hear_in_order(bus: Arc<dyn EventBus>) {
    let mut one = kept("subscribe", bus.subscribe("contract.a").await);
    let mut two = kept("subscribe", bus.subscribe("contract.a").await);
    let mut other = kept("subscribe", bus.subscribe("contract.a.b").await);
    for sequence in 1..=20 {
        kept("publish", bus.publish("contract.a", announcement(sequence)).await);
    }
    kept("publish", bus.publish("contract.a.b", announcement(99)).await);
    for sequence in 1..=20 {
        let expected = Some(Heard::Announcement(announcement(sequence)));
        assert_eq!(one.next().await, expected, "all is heard in order");
        assert_eq!(two.next().await, expected, "each subscriber hears all");
    }
    let expected = Some(Heard::Announcement(announcement(99)));
    assert_eq!(other.next().await, expected, "subjects are compared whole");
}

/// Announces more than any bus keeps; the publisher is not held up.
async fn a_slow_subscriber_is_told_and_hears_on(bus: Arc<dyn EventBus>) {
    let mut slow = kept("subscribe", bus.subscribe("contract.slow").await);
    const LAST: u64 = 100_000;
    for sequence in 1..=LAST {
        kept("publish", bus.publish("contract.slow", announcement(sequence)).await);
    }
    let (mut expected, mut lagged) = (1, false);
    while expected <= LAST {
        match slow.next().await {
            Some(Heard::Announcement(heard)) => {
                let is_next = heard.sequence == expected || lagged && heard.sequence > expected;
                assert!(is_next, "what is missed is told: {} came for {expected}", heard.sequence);
                (expected, lagged) = (heard.sequence + 1, false);
            }
            Some(Heard::Lagged) => lagged = true,
            None => panic!("a slow subscription does not end"),
        }
    }
}
