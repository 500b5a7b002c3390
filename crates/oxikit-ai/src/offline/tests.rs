use std::collections::{BTreeMap, HashMap};

use oxikit_core::{Call, Event, Schema, StatusCode};
use oxikit_wire::{
    ActionDescriptor, Document, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    OutputConfig, ToolChoice, ToolDefinition,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fill::fill;
use super::hints::Hints;
use super::*;

fn asking(text: &str) -> GenerateRequest {
    GenerateRequest { messages: vec![Arc::new(Message::user(text))], ..Default::default() }
}

fn tool(name: &str, input: Value) -> ToolDefinition {
    ToolDefinition { name: name.to_owned(), input_schema: Some(input), ..Default::default() }
}

fn add() -> ToolDefinition {
    let number = json!({"type":"number"});
    tool("add", json!({"type":"object","properties":{"a":number,"b":number},"required":["a","b"]}))
}

fn weather() -> ToolDefinition {
    tool(
        "weather",
        json!({
            "type": "object",
            "properties": {
                "city": {"type":"string"},
                "unit": {"enum":["celsius","fahrenheit"]},
                "days": {"type":"integer","minimum":1,"maximum":7},
            },
            "required": ["city"],
        }),
    )
}

#[track_caller]
fn check_answer(request: &GenerateRequest, expected: Vec<Part>) {
    assert_eq!(answer::answer(request), expected);
}

#[track_caller]
fn check_text(request: &GenerateRequest, expected: &str) {
    check_answer(request, vec![Part::text(expected)]);
}

fn call(name: &str, number: usize, input: Value) -> Part {
    Part::tool_request(name, Some(format!("call-{number}")), input)
}

#[test]
fn it_says_what_it_is_and_repeats_what_was_said() {
    check_text(&asking("hello"), "This is offline/demo: no model was asked. You said: hello");
    check_text(
        &GenerateRequest::default(),
        "This is offline/demo: no model was asked. You said nothing.",
    );
    let long = "é".repeat(300);
    let short = "é".repeat(200);
    check_text(
        &asking(&long),
        &format!("This is offline/demo: no model was asked. You said: {short}…"),
    );
}

#[test]
fn it_repeats_only_what_the_user_wrote_last() {
    let context = Part::text("\n\nUse the following").with_metadata("purpose", "context");
    let messages = [
        Message::system("Be kind."),
        Message::user("first"),
        Message::model("answer"),
        Message::user("second").with_part(context).with_part(Part::media("data:,x")),
    ];
    let request = GenerateRequest {
        messages: messages.into_iter().map(Arc::new).collect(),
        docs: Some(vec![Document::text("Tea is hot."), Document::text("So is coffee.")]),
        ..Default::default()
    };
    check_text(
        &request,
        "This is offline/demo: no model was asked. You said: second (files with it: 1) (documents with it: 2; the first: Tea is hot.)",
    );
}

#[test]
fn it_calls_the_tools_that_are_named_with_values_from_the_text() {
    let with_tools = |text| GenerateRequest {
        tools: Some(vec![add(), weather(), tool("now", json!({"$schema":"x"}))]),
        ..asking(text)
    };
    let check = |text, expected| check_answer(&with_tools(text), expected);
    check("Please add 2 and -3.5.", vec![call("add", 1, json!({"a":2,"b":-3.5}))]);
    check("2+3? Add them", vec![call("add", 1, json!({"a":2,"b":3}))]);
    check(
        "Use the weather tool for New York in Fahrenheit, 3 days",
        vec![call(
            "weather",
            1,
            json!({"city":"New York in Fahrenheit days","unit":"fahrenheit","days":3}),
        )],
    );
    check(
        r#"What is the weather in "Paris"?"#,
        vec![call("weather", 1, json!({"city":"Paris","unit":"celsius","days":1}))],
    );
    check(
        "weather",
        vec![call("weather", 1, json!({"city":"sample city","unit":"celsius","days":1}))],
    );
    check(
        "now, then add 1 and 2",
        vec![call("now", 1, json!({})), call("add", 2, json!({"a":1,"b":2}))],
    );
    for text in ["What is an address?", "add_all", "I know"] {
        check(
            text,
            vec![Part::text(format!("This is offline/demo: no model was asked. You said: {text}"))],
        );
    }
}

#[test]
fn it_says_what_the_tools_answered() {
    let messages = [
        Message::user("add 1 and 2"),
        Message::new(Role::Model, vec![call("add", 1, json!({"a":1,"b":2}))]),
        Message::tool(vec![
            Part::tool_response("add", Some("call-1".into()), json!(3)),
            Part::tool_response("note", None, json!("kept")),
            Part::tool_response("done", None, json!(null)),
        ]),
    ];
    let mut request = GenerateRequest {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Some(vec![add()]),
        ..Default::default()
    };
    check_text(
        &request,
        "This is offline/demo: no model was asked. The tool `add` answered: 3; the tool `note` answered: kept; the tool `done` answered: nothing",
    );

    request.tool_choice = Some(ToolChoice::Required);
    assert!(answer::answer(&request)[0].as_text().is_some());

    request.messages.push(Arc::new(Message::user("add 5 and 6")));
    check_answer(&request, vec![call("add", 2, json!({"a":5,"b":6}))]);
}

#[test]
fn the_tool_choice_is_respected() {
    let request = |text, choice| GenerateRequest {
        tools: Some(vec![add(), weather()]),
        tool_choice: Some(choice),
        ..asking(text)
    };
    check_text(
        &request("add 1 and 2", ToolChoice::None),
        "This is offline/demo: no model was asked. You said: add 1 and 2",
    );
    check_answer(
        &request("hello 7", ToolChoice::Required),
        vec![call("add", 1, json!({"a":7,"b":1}))],
    );
    check_answer(
        &request("weather", ToolChoice::Auto),
        vec![call("weather", 1, json!({"city":"sample city","unit":"celsius","days":1}))],
    );
}

#[test]
fn it_answers_in_the_format_that_was_asked_for() {
    #[track_caller]
    fn check(format: Option<&str>, schema: Option<Value>, expected: &str) {
        let output =
            OutputConfig { format: format.map(str::to_owned), schema, ..Default::default() };
        check_text(&GenerateRequest { output: Some(output), ..asking("green tea") }, expected);
    }
    let item = json!({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]});
    let list = json!({"type":"array","items":item,"minItems":2});
    let items = [r#"{"name":"green tea"}"#, r#"{"name":"2 sample name"}"#];
    check(Some("json"), Some(item.clone()), items[0]);
    check(None, Some(item), items[0]);
    check(Some("json"), None, r#"{"text":"green tea"}"#);
    check(Some("array"), Some(list.clone()), &format!("[{}]", items.join(",")));
    check(Some("jsonl"), Some(list), &format!("{}\n", items.join("\n")));
    check(Some("enum"), Some(json!({"type":"string","enum":["red","green"]})), "green");
    check(Some("text"), Some(json!({"type":"string"})), "green tea");
    check(Some("text"), None, "This is offline/demo: no model was asked. You said: green tea");
    check(None, None, "This is offline/demo: no model was asked. You said: green tea");
}

#[test]
fn what_a_tool_answered_is_the_output_when_it_fits() {
    let messages = [
        Message::user("add"),
        Message::tool(vec![Part::tool_response("add", None, json!({"sum":3}))]),
    ];
    let schema = json!({"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]});
    let request = GenerateRequest {
        messages: messages.into_iter().map(Arc::new).collect(),
        output: Some(OutputConfig { schema: Some(schema), ..Default::default() }),
        ..Default::default()
    };
    check_text(&request, r#"{"sum":3}"#);
}

/// Runs the registered model: the texts of its chunks, and its response.
async fn run(request: GenerateRequest) -> Result<(Vec<GenerateResponseChunk>, GenerateResponse)> {
    let ai = Oxikit::builder().plugin(Offline).build().unwrap();
    let model = ai.registry().get("/model/offline/demo").unwrap();
    let mut run = model.start(Call::new(request))?;
    let mut chunks = Vec::new();
    loop {
        match run.next().await.unwrap() {
            Event::Chunk(chunk) => chunks.push(chunk.parse()?),
            Event::Done(response) => return Ok((chunks, response.parse()?)),
            Event::Failed(status) => return Err(status),
        }
    }
}

#[tokio::test]
async fn it_streams_word_by_word_and_counts_what_it_used() {
    let (chunks, response) = run(asking("hello there")).await.unwrap();
    let words = [
        "This ",
        "is ",
        "offline/demo: ",
        "no ",
        "model ",
        "was ",
        "asked. ",
        "You ",
        "said: ",
        "hello ",
        "there",
    ];
    assert_eq!(chunks, words.map(GenerateResponseChunk::text));
    let text = words.concat();
    let expected = GenerateResponse {
        message: Some(Arc::new(Message::model(text.as_str()))),
        finish_reason: Some(FinishReason::Stop),
        usage: Some(Usage {
            input_tokens: Some(2),
            output_tokens: Some(11),
            total_tokens: Some(13),
            input_characters: Some(11),
            output_characters: Some(text.len() as u64),
            ..Usage::default()
        }),
        latency_ms: response.latency_ms,
        ..GenerateResponse::default()
    };
    assert_eq!(response, expected);
}

#[test]
fn an_answer_is_cut_into_words_that_make_up_the_whole() {
    let check = |text, expected: &[&str]| assert_eq!(words(text), expected);
    check("", &[]);
    check("one", &["one"]);
    check("one, two:\n three ", &["one, ", "two:\n ", "three "]);
    check(r#"{"a":1,"b":"ä b"}"#, &[r#"{"a":"#, "1,", r#""b":"#, r#""ä "#, r#"b"}"#]);
}

#[tokio::test]
async fn it_streams_tool_requests_in_one_piece() {
    let request = GenerateRequest { tools: Some(vec![add()]), ..asking("add 1 and 2") };
    let (chunks, response) = run(request).await.unwrap();
    let parts = vec![call("add", 1, json!({"a":1,"b":2}))];
    assert_eq!(chunks, [GenerateResponseChunk::from(parts.clone())]);
    assert_eq!(response.message.unwrap().content, parts);
}

#[tokio::test(start_paused = true)]
async fn it_waits_before_each_piece_if_configured() {
    let began = tokio::time::Instant::now();
    let request =
        GenerateRequest { config: Some(json!({"delayMs":50})), ..GenerateRequest::default() };
    let (chunks, _) = run(request).await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(50) * chunks.len() as u32);
}

#[tokio::test]
async fn a_delay_that_is_no_number_is_an_invalid_argument() {
    let request =
        GenerateRequest { config: Some(json!({"delayMs":"long"})), ..GenerateRequest::default() };
    let refused = run(request).await.unwrap_err();
    assert_eq!(
        (refused.code(), refused.message()),
        (StatusCode::InvalidArgument, "the config member `delayMs` is a number of milliseconds")
    );
}

#[test]
fn the_plugin_lists_what_the_model_can_do() {
    let ai = Oxikit::builder().plugin(Offline).build().unwrap();
    let descriptor: ActionDescriptor =
        ai.registry().get("/model/offline/demo").unwrap().descriptor().clone();
    assert_eq!(
        descriptor.metadata.unwrap()["model"],
        json!({
            "label": "Offline demo (no intelligence)",
            "supports": {
                "multiturn": true,
                "media": true,
                "tools": true,
                "systemRole": true,
                "output": ["text", "json"],
                "constrained": "all",
                "toolChoice": true,
            },
            "customOptions": {
                "type": "object",
                "properties": {
                    "delayMs": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "Milliseconds to wait before each streamed piece.",
                    },
                },
            },
        })
    );
    assert!(ai.registry().get("/embedder/offline/embed").is_some());
}

#[track_caller]
fn check_valid(schema: &Value) -> Value {
    let checked = Schema::from_json(schema.clone()).unwrap();
    let mut plain = Value::Null;
    for text in ["", "call it 3 times with \"some text\", 12 and -1.5 off"] {
        let value = fill(schema, &Hints::new(text, None));
        if let Err(status) = checked.validate(&value) {
            panic!("{value} is not valid for {schema}: {status}");
        }
        if text.is_empty() {
            plain = value;
        }
    }
    plain
}

#[test]
fn every_keyword_is_kept() {
    #[track_caller]
    fn check(schema: Value, expected: Value) {
        assert_eq!(check_valid(&schema), expected, "{schema}");
    }
    check(json!({}), json!("sample text"));
    check(json!({"type":"string"}), json!("sample text"));
    check(json!({"type":["null","string"]}), json!("sample text"));
    check(json!({"type":"null"}), json!(null));
    check(json!({"type":"boolean"}), json!(true));
    check(json!({"type":"integer"}), json!(1));
    check(json!({"type":"integer","minimum":10}), json!(10));
    check(json!({"type":"integer","maximum":-10}), json!(-10));
    check(json!({"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":3}), json!(2));
    check(json!({"type":"integer","minimum":7,"multipleOf":5}), json!(10));
    check(json!({"type":"integer","minimum":0.5,"multipleOf":1.5}), json!(3));
    check(json!({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}), json!(0.5));
    check(json!({"type":"number","minimum":0.2,"maximum":0.3}), json!(0.2));
    check(json!({"minimum":100}), json!(100));
    check(json!({"type":"string","minLength":15}), json!("sample text...."));
    check(json!({"type":"string","maxLength":4}), json!("samp"));
    check(json!({"type":"string","format":"date"}), json!("2025-01-01"));
    check(json!({"type":"string","format":"date-time"}), json!("2025-01-01T12:00:00Z"));
    check(json!({"type":"string","format":"time"}), json!("12:00:00Z"));
    check(json!({"type":"string","format":"uuid"}), json!("00000000-0000-4000-8000-000000000000"));
    check(json!({"type":"string","format":"email"}), json!("someone@example.com"));
    check(json!({"type":"string","format":"uri"}), json!("https://example.com/"));
    check(json!({"type":"string","format":"ipv4"}), json!("192.0.2.1"));
    check(json!({"type":"string","format":"ipv6"}), json!("2001:db8::1"));
    check(json!({"type":"string","format":"hostname"}), json!("host0.example.com"));
    check(json!({"type":"string","pattern":"^[A-Z]{2}-\\d{3,}$"}), json!("AA-000"));
    check(json!({"type":"string","pattern":"^(red|green)?$"}), json!("red"));
    check(
        json!({"type":"string","pattern":"^[^a]+\\.(?:txt)$","minLength":10}),
        json!("AAAAAA.txt"),
    );
    check(json!({"const":{"a":1}}), json!({"a":1}));
    check(json!({"enum":["x","y"]}), json!("x"));
    check(json!({"type":"string","enum":[null,"y"]}), json!("y"));
    check(json!({"type":"array","items":{"type":"integer"}}), json!([1]));
    check(
        json!({"type":"array","items":{"type":"integer"},"minItems":3,"uniqueItems":true}),
        json!([1, 2, 3]),
    );
    check(
        json!({"type":"array","items":{"enum":["x","y","z"]},"minItems":2,"uniqueItems":true}),
        json!(["x", "y"]),
    );
    check(json!({"type":"array","items":{"type":"string"},"maxItems":0}), json!([]));
    check(
        json!({"type":"array","items":[{"type":"integer"},{"type":"string"}],"minItems":2,"maxItems":2}),
        json!([1, "2 sample text"]),
    );
    check(json!({"type":"array","contains":{"const":5}}), json!([5]));
    check(
        json!({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"],"additionalProperties":false}),
        json!({"a":"sample a","b":1}),
    );
    check(json!({"required":["a"]}), json!({"a":"sample a"}));
    check(json!({"type":"object"}), json!({}));
    check(
        json!({"type":"object","additionalProperties":{"type":"integer"}}),
        json!({"sample key":1}),
    );
    check(
        json!({"type":"object","additionalProperties":{"type":"integer"},"minProperties":2}),
        json!({"sample key":1,"2 sample key":2}),
    );
    check(
        json!({"type":"object","patternProperties":{"^\\d+$":{"type":"integer"}},"additionalProperties":false,"minProperties":1}),
        json!({"0":1}),
    );
    check(
        json!({"properties":{"a":{},"b":{},"c":{}},"required":["c"],"maxProperties":2}),
        json!({"a":"sample a","c":"sample c"}),
    );
    check(json!({"properties":{"a":false,"b":true}}), json!({"b":"sample b"}));
    check(json!({"anyOf":[{"type":"null"},{"type":"integer"}]}), json!(1));
    check(json!({"oneOf":[{"type":"integer"},{"type":"integer","minimum":5}]}), json!(1));
    check(
        json!({"oneOf":[{"type":"integer","minimum":1},{"type":"number"},{"type":"string"}]}),
        json!("sample text"),
    );
    check(
        json!({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"a":{"minimum":5},"b":{"type":"boolean"}}}]}),
        json!({"a":5,"b":true}),
    );
    check(json!({"allOf":[{"type":["integer","string"]},{"type":"number"}]}), json!(1));
    check(
        json!({"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"required":["b"]},"type":"object"}),
        json!({"a":1,"b":"sample b"}),
    );
    check(
        json!({"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b~1c"},"b/c":{"type":"integer"}}}),
        json!(1),
    );
    check(json!({"not":{"type":"object"},"type":"integer"}), json!(1));
}

#[test]
fn recursive_schemas_come_to_an_end() {
    let tree = json!({
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "left": {"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},
                    "right": {"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},
                    "children": {"type":"array","items":{"$ref":"#/$defs/tree"}},
                },
                "required": ["left", "right", "children"],
            },
        },
    });
    check_valid(&tree);
    let expression = json!({
        "oneOf": [
            {"type":"object","properties":{"add":{"type":"array","items":{"$ref":"#"},"minItems":2}},"required":["add"],"additionalProperties":false},
            {"type":"object","properties":{"number":{"type":"number"}},"required":["number"],"additionalProperties":false},
        ],
    });
    check_valid(&expression);
    let endless = json!({"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}},"required":["a"]});
    assert_eq!(fill(&endless, &Hints::default()), Value::Null);
    assert_eq!(fill(&json!({"$ref":"#"}), &Hints::default()), Value::Null);
    let huge = json!({"type":"array","items":{"type":"integer"},"minItems":1_000_000_000});
    assert_eq!(fill(&huge, &Hints::default()), Value::Null);
    let few = json!({"type":"array","items":{"type":"boolean"},"minItems":3,"uniqueItems":true});
    assert_eq!(fill(&few, &Hints::default()), Value::Null);
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Order {
    /// Its name.
    #[schemars(length(min = 3, max = 40))]
    title: String,
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    price: f64,
    delta: i64,
    total: u64,
    note: Option<String>,
    nested: Option<Box<Order>>,
    state: State,
    payments: Vec<Payment>,
    by_name: HashMap<String, Payment>,
    by_number: BTreeMap<u32, bool>,
    pair: (String, u8),
    triple: [f32; 3],
    letter: char,
    any: Value,
    tags: std::collections::BTreeSet<State>,
    unit: (),
    tree: Tree,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Not paid.
    Open,
    /// Paid.
    AllDone,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Payment {
    Free,
    Cash(f64),
    Card { number: String, until: Option<u32> },
    Split(Vec<Payment>, Box<Payment>),
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Tree {
    Node { children: Vec<Tree>, first: Box<Tree> },
    Leaf { value: i32 },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Loose {
    Number(u16),
    Text(String),
    Both { a: u16, b: String },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "data")]
enum Adjacent {
    A(u8),
    B { x: Option<Loose> },
}

#[test]
fn values_for_rust_types_can_be_read_into_them() {
    #[track_caller]
    fn check<T: JsonSchema + serde::de::DeserializeOwned>() {
        let inlined = Schema::of::<T>().as_json().clone();
        let modern = schemars::schema_for!(T).to_value();
        for schema in [inlined, modern] {
            let value = check_valid(&schema);
            if let Err(error) = serde_json::from_value::<T>(value.clone()) {
                panic!("{value} for {schema}: {error}");
            }
        }
    }
    check::<Order>();
    check::<State>();
    check::<Payment>();
    check::<Tree>();
    check::<Loose>();
    check::<Adjacent>();
    check::<Vec<Adjacent>>();
    check::<Option<Order>>();
    check::<HashMap<String, Vec<Option<Loose>>>>();
    check::<(u8, String, Option<bool>)>();
    check::<std::num::NonZeroU8>();
    check::<i8>();
    check::<Result<u8, String>>();
    // Their schemas say less than their types.
    check_valid(Schema::of::<GenerateRequest>().as_json());
    check_valid(Schema::of::<GenerateResponse>().as_json());
}

#[test]
fn hints_find_values_in_words() {
    let fill_from = |text: &str, schema: Value| fill(&schema, &Hints::new(text, None));
    let string = |format: &str| json!({"type":"string","format":format});
    assert_eq!(fill_from("on 2024-02-03.", string("date")), json!("2024-02-03"));
    assert_eq!(fill_from("mail a@b.org!", string("email")), json!("a@b.org"));
    assert_eq!(fill_from("see https://a.b/c.", string("uri")), json!("https://a.b/c"));
    assert_eq!(fill_from("switch it off", json!({"type":"boolean"})), json!(false));
    assert_eq!(fill_from("it's “one” and 'two'", json!({"type":"string"})), json!("one"));
    assert_eq!(fill_from("12 of 5", json!({"type":"integer","maximum":10})), json!(5));
    assert_eq!(
        fill_from("3-2 is v1", json!({"type":"array","items":{"type":"integer"},"minItems":3})),
        json!([3, 2, 3])
    );
    assert_eq!(fill_from("make it RED", json!({"enum":["green","red"]})), json!("red"));
}
