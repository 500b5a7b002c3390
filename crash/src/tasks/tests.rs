//! The checkers of the trials find what they look for.

use oxikit_wire::a2a::Version;
use serde_json::{Value, json};

use super::reader::{Reading, Seen};
use super::receiver::Notification;
use super::webhooks::Figures;

fn status(state: &str) -> Value {
    json!({ "statusUpdate": { "status": { "state": state } } })
}

fn log() -> Vec<Seen> {
    let chunk = json!({ "artifactUpdate": { "artifact": { "parts": [] } } });
    let events = [status("TASK_STATE_SUBMITTED"), chunk, status("TASK_STATE_COMPLETED")];
    let seen = |(number, event)| Seen { task: "t".to_owned(), number, event };
    (1..).zip(events).map(seen).collect()
}

#[test]
fn gaps_duplicates_and_changes_of_a_stream_are_found() {
    let reading = |numbers: &[usize]| {
        let events = numbers.iter().map(|number| log()[number - 1].clone()).collect();
        Reading { events, ..Reading::default() }
    };
    let figures = |reading: &Reading| (reading.gaps(), reading.duplicates());
    assert_eq!(figures(&reading(&[1, 2, 3])), (0, 0));
    assert_eq!(figures(&reading(&[1, 3])), (1, 0));
    assert_eq!(figures(&reading(&[1, 2, 2, 3])), (0, 1));
    assert_eq!(figures(&reading(&[1, 2, 1, 2, 3])), (0, 1));
    let mut changed = reading(&[1, 2, 3]);
    assert_eq!(changed.missing_in(&log()), 0);
    changed.events[2].event = status("TASK_STATE_FAILED");
    assert_eq!(changed.missing_in(&log()), 1);
}

/// The figures of notifications with these numbers, of which the last may have another body.
fn figures(numbers: &[u64], last: Option<Value>) -> Figures {
    let first = json!({ "task": { "status": { "state": "TASK_STATE_SUBMITTED" } } });
    let body = |number: u64| match number {
        1 => first.clone(),
        number => log()[number as usize - 1].event.clone(),
    };
    let notification =
        |number: &u64| Notification { task: "t".to_owned(), number: *number, body: body(*number) };
    let mut received: Vec<_> = numbers.iter().map(notification).collect();
    if let (Some(notification), Some(body)) = (received.last_mut(), last) {
        notification.body = body;
    }
    let mut figures = Figures::default();
    figures.tasks = 1;
    figures.add(Version::V1_0, &log(), received.iter());
    figures
}

#[test]
fn notifications_that_are_missing_out_of_order_or_wrong_are_found() {
    assert!(figures(&[1, 2, 3], None).is_good());
    // A kill may repeat them.
    let repeated = figures(&[1, 2, 1, 2, 3], None);
    assert!(repeated.is_good() && repeated.repeated == 2);
    assert!(!figures(&[], None).is_good());
    assert!(!figures(&[1, 2], None).is_good(), "the last one is missing");
    assert!(!figures(&[1, 3], None).is_good(), "one is left out");
    assert!(!figures(&[1, 3, 2], None).is_good(), "the order is another one");
    assert!(!figures(&[1, 2, 3], Some(status("TASK_STATE_FAILED"))).is_good());
    assert!(!figures(&[1, 2, 3, 2], Some(json!({}))).is_good(), "repeated with another body");
}
