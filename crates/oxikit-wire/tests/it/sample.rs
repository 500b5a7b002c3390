//! The one check that every wire type goes through.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The sample is read and written again, and nothing is lost or added.
#[track_caller]
pub(crate) fn check_wire<T: Serialize + DeserializeOwned>(sample: &str) {
    let value: T = serde_json::from_str(sample).unwrap();
    let text = serde_json::to_string(&value).unwrap();
    let (written, sample): (Value, Value) =
        (serde_json::from_str(&text).unwrap(), serde_json::from_str(sample).unwrap());
    assert_eq!(written, sample);
}

/// Checks that the sample is read and written again as `expected`.
#[track_caller]
pub(crate) fn check_reads<T: Serialize + DeserializeOwned>(sample: &str, expected: &str) {
    let value: T = serde_json::from_str(sample).unwrap();
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(serde_json::to_value(&value).unwrap(), expected);
}

#[track_caller]
pub(crate) fn check_refuses<T: DeserializeOwned + std::fmt::Debug>(sample: &str) {
    let read = serde_json::from_str::<T>(sample);
    assert!(read.is_err(), "read as {read:?}");
}
