//! Messages of the official implementations, as bytes and as JSON: both are read as the same
//! object, and the object is written as the same bytes.

use std::fmt::Debug;

use oxikit_a2a_grpc::{CreatePushRequest, Decode, Encode, Event, operation};
use oxikit_core::timestamp;
use oxikit_wire::a2a::v0_3::rest;
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksRequest, ListTasksResponse, Operation, PushConfig,
    PushConfigRequest, SendMessageRequest, StreamResponse, SubscribeRequest, Task, Version,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One line of a recording.
struct Recorded {
    version: Version,
    operation: Operation,
    is_request: bool,
    json: Value,
    bytes: Vec<u8>,
    /// Whether the JSON has times with parts of milliseconds, which we do not write.
    is_finer: bool,
}

impl Recorded {
    fn new(line: &Value, version: Version) -> Self {
        let mut json = line["json"].clone();
        let before = json.clone();
        to_milliseconds(&mut json);
        Self {
            version,
            operation: operation(line["method"].as_str().unwrap(), version).unwrap(),
            is_request: line["from"] == "client",
            is_finer: json != before,
            json,
            bytes: unhex(line["bytes"].as_str().unwrap()),
        }
    }

    /// The object, which is written as the bytes that it was read from.
    fn read<T: Decode + Encode + PartialEq + Debug>(&self) -> T {
        let value = T::decode(self.version, &self.bytes).unwrap();
        if !self.is_finer {
            assert_eq!(value.encode(self.version), self.bytes, "{value:?}");
        }
        value
    }

    /// Checks an object whose JSON has the same form in both versions.
    fn same<T: Decode + Encode + DeserializeOwned + PartialEq + Debug>(&self) {
        assert_eq!(self.read::<T>(), serde_json::from_value(self.json.clone()).unwrap());
    }

    /// Checks an object whose JSON is that of the HTTP binding.
    fn rest<T: Decode + Encode + DeserializeOwned + PartialEq + Debug>(&self)
    where
        rest::In<T>: DeserializeOwned,
    {
        match self.version {
            Version::V1_0 => self.same::<T>(),
            Version::V0_3 => assert_eq!(self.read::<T>(), self.rest_json()),
        }
    }

    fn rest_json<T>(&self) -> T
    where
        rest::In<T>: DeserializeOwned,
    {
        let rest::In(value) = serde_json::from_value(self.json.clone()).unwrap();
        value
    }

    fn check(&self) {
        match (self.operation, self.is_request) {
            (Operation::SendMessage | Operation::SendStreamingMessage, true) => self.sent(),
            (Operation::SendMessage, false) => self.rest::<StreamResponse>(),
            (Operation::SendStreamingMessage | Operation::SubscribeToTask, false) => self.event(),
            (Operation::GetTask | Operation::CancelTask, false) => self.rest::<Task>(),
            (Operation::ListTasks, true) => self.same::<ListTasksRequest>(),
            (Operation::ListTasks, false) => self.same::<ListTasksResponse>(),
            (Operation::CreatePushConfig, true) => {
                let CreatePushRequest(config) = self.read();
                assert_eq!(
                    config,
                    match self.version {
                        Version::V1_0 => serde_json::from_value(self.json.clone()).unwrap(),
                        Version::V0_3 => self.rest_json(),
                    }
                );
            }
            (Operation::CreatePushConfig | Operation::GetPushConfig, false) => {
                self.rest::<PushConfig>();
            }
            (Operation::ListPushConfigs, false) => self.rest::<ListPushConfigsResponse>(),
            (Operation::DeletePushConfig, false) => assert!(self.bytes.is_empty()),
            (Operation::GetExtendedCard, false) => self.same::<AgentCard>(),
            (_, true) => self.named(),
        }
    }

    /// Requests of version 0.3 name their task in a way that only protobuf has.
    fn named(&self) {
        match (self.operation, self.version) {
            (Operation::GetTask, Version::V1_0) => self.same::<GetTaskRequest>(),
            (Operation::CancelTask, Version::V1_0) => self.same::<CancelTaskRequest>(),
            (Operation::SubscribeToTask, Version::V1_0) => self.same::<SubscribeRequest>(),
            (Operation::ListPushConfigs, Version::V1_0) => self.same::<ListPushConfigsRequest>(),
            (Operation::GetExtendedCard, _) => self.same::<ExtendedCardRequest>(),
            (_, Version::V1_0) => self.same::<PushConfigRequest>(),
            (operation, Version::V0_3) => {
                let name = self.json.get("name").or(self.json.get("parent")).unwrap();
                let (task, webhook) = match operation {
                    Operation::GetTask => (self.read::<GetTaskRequest>().id, None),
                    Operation::CancelTask => (self.read::<CancelTaskRequest>().id, None),
                    Operation::SubscribeToTask => (self.read::<SubscribeRequest>().id, None),
                    Operation::ListPushConfigs => {
                        (self.read::<ListPushConfigsRequest>().task_id, None)
                    }
                    _ => {
                        let request = self.read::<PushConfigRequest>();
                        (request.task_id, request.id)
                    }
                };
                let webhook = webhook.map(|id| format!("/pushNotificationConfigs/{id}"));
                assert_eq!(*name, format!("tasks/{task}{}", webhook.unwrap_or_default()));
            }
        }
    }

    /// Of version 0.3 a false `blocking` is not written, and ours always writes a configuration.
    fn sent(&self) {
        if self.json.get("message").is_none() {
            SendMessageRequest::decode(self.version, &self.bytes).unwrap_err();
            return;
        }
        let request = SendMessageRequest::decode(self.version, &self.bytes).unwrap();
        let mut expected: SendMessageRequest = match self.version {
            Version::V1_0 => serde_json::from_value(self.json.clone()).unwrap(),
            Version::V0_3 => self.rest_json(),
        };
        if let Some(configuration) = &mut expected.configuration {
            let is_immediate = self.version == Version::V0_3;
            configuration.return_immediately.get_or_insert(is_immediate);
        }
        assert_eq!(request, expected);
        if self.version == Version::V1_0 || request.configuration.is_some() {
            assert_eq!(request.encode(self.version), self.bytes);
        }
    }

    fn event(&self) {
        let response = StreamResponse::decode(self.version, &self.bytes).unwrap();
        let (expected, is_last) = match self.version {
            Version::V1_0 => (serde_json::from_value(self.json.clone()).unwrap(), false),
            Version::V0_3 => {
                let event: rest::Event = serde_json::from_value(self.json.clone()).unwrap();
                (event.response, event.is_final)
            }
        };
        assert_eq!(response, expected);
        if !self.is_finer {
            let event = Event { response: &response, is_last };
            assert_eq!(event.encode(self.version), self.bytes);
        }
    }
}

/// Cuts times to milliseconds.
fn to_milliseconds(json: &mut Value) {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(time) if name == "timestamp" => {
                        let millis = timestamp::parse_millis(time).unwrap();
                        let text = timestamp::from_millis(millis).unwrap();
                        // Whole seconds and tenths are written shorter by others.
                        if text.trim_end_matches(['0', 'Z']) != time.trim_end_matches(['0', 'Z']) {
                            *time = text;
                        }
                    }
                    value => to_milliseconds(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(to_milliseconds),
        _ => {}
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|digits| str::from_utf8(digits).unwrap());
    digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

#[test]
fn official_messages_are_read_and_written() {
    for (file, version, lines) in [
        ("a2a-0.3/grpc--py0.3.26-client--js0.3.14-server.jsonl", Version::V0_3, 26),
        ("a2a-0.3/grpc--py0.3.26-client--py0.3.26-server.jsonl", Version::V0_3, 25),
        ("a2a-0.3/grpc--written-by-py0.3.26.jsonl", Version::V0_3, 14),
        ("a2a-1.0/grpc--py1.3.0-client--js1.3.0-server.jsonl", Version::V1_0, 30),
        ("a2a-1.0/grpc--py1.3.0-client--py1.3.0-server.jsonl", Version::V1_0, 31),
        ("a2a-1.0/grpc--written-by-py1.3.0.jsonl", Version::V1_0, 18),
    ] {
        let recorded = oxikit_recordings::text(file);
        assert_eq!(recorded.lines().count(), lines, "{file}");
        for line in recorded.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            Recorded::new(&line, version).check();
        }
    }
}
