//! What every event bus promises.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;

use super::kept;
use crate::ports::{Announcement, EventBus, Heard};

/// Runs the suite. The subjects used begin with `contract.`.
pub async fn event_bus(bus: Arc<dyn EventBus>) {
    nobody_need_listen(&*bus).await;
    all_subscribers_hear_in_order(&*bus).await;
    a_slow_subscriber_is_told_and_hears_on(&*bus).await;
}

fn announcement(sequence: u64) -> Announcement {
    Announcement { sequence, hint: Bytes::from(sequence.to_string()) }
}

async fn nobody_need_listen(bus: &dyn EventBus) {
    kept("nobody need listen", bus.publish("contract.alone", announcement(1)).await);
    let gone = kept("subscribe", bus.subscribe("contract.alone").await);
    drop(gone);
    kept("nobody need listen any more", bus.publish("contract.alone", announcement(2)).await);
}

async fn all_subscribers_hear_in_order(bus: &dyn EventBus) {
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
async fn a_slow_subscriber_is_told_and_hears_on(bus: &dyn EventBus) {
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
