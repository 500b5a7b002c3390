//! The generate loop, against a model that plays a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use oxikit::prelude::*;
use oxikit::wire::{
    FinishReason, GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    ResumeOptions,
};
use oxikit::{Call, Model, Role};

/// A model that answers with one scripted response after another, and remembers
/// what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    pub(crate) requests: Arc<Mutex<Vec<GenerateRequest>>>,
}

pub(crate) type Answer = (Vec<GenerateResponseChunk>, Result<GenerateResponse>);

impl Script {
    pub(crate) fn define(ai: &Oxikit, answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            ..Self::default()
        };
        let played = script.clone();
        ai.define_model(Model::builder("script").handler(move |request, _, out| {
            played.requests.lock().unwrap().push(request);
            let answer = played.answers.lock().unwrap().pop_front();
            async move {
                let (chunks, result) = answer.expect("the script is over");
                for chunk in chunks {
                    out.send(chunk).await?;
                }
                result
            }
        }));
        script
    }

    pub(crate) fn last_request(&self) -> GenerateRequest {
        self.requests.lock().unwrap().last().cloned().unwrap()
    }
}

pub(crate) fn says(text: &str) -> Answer {
    (Vec::new(), Ok(response(vec![Part::text(text)])))
}

pub(crate) fn asks(parts: Vec<Part>) -> Answer {
    (Vec::new(), Ok(response(parts)))
}

pub(crate) fn fails(status: Status) -> Answer {
    (Vec::new(), Err(status))
}

fn response(parts: Vec<Part>) -> GenerateResponse {
    GenerateResponse {
        message: Some(Arc::new(Message::new(Role::Model, parts))),
        finish_reason: Some(FinishReason::Stop),
        ..Default::default()
    }
}

fn request(name: &str, reference: &str, input: Value) -> Part {
    Part::tool_request(name, Some(reference.into()), input)
}

pub(crate) fn app(answers: impl IntoIterator<Item = Answer>) -> (Oxikit, Script) {
    let ai = Oxikit::builder().default_model("script").build().unwrap();
    let script = Script::define(&ai, answers);
    (ai, script)
}

/// Adds two numbers.
#[tool]
async fn add(
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> f64 {
    a + b
}

#[tokio::test]
async fn a_generate_call_answers_with_the_models_text() {
    let (ai, script) = app([says("hello")]);
    let reply =
        ai.generate().system("S").prompt("hi").config(json!({"temperature": 1})).await.unwrap();
    assert_eq!(reply.text(), "hello");
    assert_eq!(
        json!(script.last_request()),
        json!({
            "messages": [
                {"role": "system", "content": [{"text": "S"}]},
                {"role": "user", "content": [{"text": "hi"}]},
            ],
            "config": {"temperature": 1}, "tools": [], "output": {},
        })
    );
    assert_eq!(reply.messages().len(), 3);
}

#[test]
fn a_tool_says_whether_it_only_reads() {
    /// The time of day.
    #[tool(read_only)]
    async fn time() -> &'static str {
        "noon"
    }
    assert_eq!(json!(time().action().descriptor().metadata)["tool"], json!({"readOnly": true}));
    assert_eq!(json!(add().action().descriptor().metadata)["tool"], Value::Null);
    let ai = Oxikit::builder().build().unwrap();
    ai.define_tool(time());
    let actions = ai.registry().list();
    let parts = actions.iter().find(|action| action.key() == "/tool.v2/time").unwrap();
    let expected = json!({"multipart": true, "readOnly": true});
    assert_eq!(json!(parts.descriptor().metadata)["tool"], expected);
}

#[test]
fn a_tool_derives_name_description_and_schema_from_its_function() {
    let tool = add();
    let descriptor = tool.action().descriptor();
    assert_eq!(tool.name(), "add");
    assert_eq!(descriptor.description.as_deref(), Some("Adds two numbers."));
    assert_eq!(
        descriptor.input_schema,
        Some(json!({
            "type": "object",
            "properties": {
                "a": {"description": "The first number.", "type": "number"},
                "b": {"description": "The second number.", "type": "number"},
            },
            "required": ["a", "b"],
        }))
    );
    assert_eq!(descriptor.output_schema, Some(json!({"type": "number"})));
}

#[tokio::test]
async fn tools_are_run_and_their_answers_go_back_to_the_model() {
    let ask = vec![request("add", "r1", json!({"a": 2, "b": 3}))];
    let (ai, script) = app([asks(ask), says("5")]);
    let reply = ai.generate().prompt("2+3?").tool(add()).await.unwrap();
    assert_eq!(reply.text(), "5");
    let request = script.last_request();
    assert_eq!(
        json!(request.messages[2]),
        json!({"role": "tool", "content": [{"toolResponse": {"name": "add", "ref": "r1", "output": 5.0}}]})
    );
    let tools = request.tools.unwrap();
    assert_eq!(tools[0].key.as_deref(), Some("/tool/add"));
}

#[tokio::test(start_paused = true)]
async fn tool_answers_keep_the_order_of_the_requests_and_run_at_the_same_time() {
    let (ai, script) = app([
        asks(vec![request("nap", "a", json!(120)), request("nap", "b", json!(10))]),
        says("ok"),
    ]);
    ai.define_tool(Tool::new("nap", "Sleeps.", |ms: u64| async move {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
        Ok(ms)
    }));
    let began = tokio::time::Instant::now();
    ai.generate().prompt("x").tool_named("nap").await.unwrap();
    assert_eq!(began.elapsed().as_millis(), 120);
    let answers: Vec<_> = script.last_request().messages[2]
        .content
        .iter()
        .map(|part| part.as_tool_response().unwrap().output.clone().unwrap())
        .collect();
    assert_eq!(answers, [json!(120), json!(10)]);
}

#[tokio::test]
async fn chunks_carry_role_and_index_through_the_rounds() {
    let ask = vec![request("add", "r", json!({"a": 1, "b": 1}))];
    let (ai, _) = app([
        (
            vec![GenerateResponseChunk::text("par"), GenerateResponseChunk::text("tial")],
            asks(ask).1,
        ),
        (vec![GenerateResponseChunk::text("fin")], says("fin").1),
    ]);
    let mut stream = ai.generate().prompt("x").tool(add()).stream();
    let mut seen = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        seen.push((chunk.role.unwrap(), chunk.index.unwrap(), chunk.to_text()));
    }
    let expected = [
        (Role::Model, 0, "par"),
        (Role::Model, 0, "tial"),
        (Role::Tool, 1, ""),
        (Role::Model, 2, "fin"),
    ];
    assert_eq!(seen, expected.map(|(role, index, text)| (role, index, text.to_owned())));
    assert_eq!(stream.finish().await.unwrap().text(), "fin");
}

#[tokio::test]
async fn a_first_message_that_streamed_nothing_takes_no_index() {
    let ask = vec![request("add", "r", json!({"a": 1, "b": 1}))];
    let (ai, _) = app([asks(ask), (vec![GenerateResponseChunk::text("fin")], says("fin").1)]);
    let mut stream = ai.generate().prompt("x").tool(add()).stream();
    let mut seen = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.unwrap();
        seen.push((chunk.role.unwrap(), chunk.index.unwrap()));
    }
    assert_eq!(seen, [(Role::Tool, 0), (Role::Model, 1)]);
}

#[tokio::test]
async fn a_loop_that_never_ends_is_aborted_after_its_rounds() {
    for (max_turns, calls) in [(None, 6), (Some(1), 2), (Some(0), 1)] {
        let ask = || asks(vec![request("add", "r", json!({"a": 1, "b": 1}))]);
        let (ai, script) = app((0..10).map(|_| ask()));
        let mut call = ai.generate().prompt("x").tool(add());
        if let Some(max_turns) = max_turns {
            call = call.max_turns(max_turns);
        }
        let status = call.await.unwrap_err();
        assert_eq!(status.code(), StatusCode::Aborted);
        assert_eq!(
            status.message(),
            format!("Exceeded maximum tool call iterations ({})", max_turns.unwrap_or(5))
        );
        assert_eq!(script.requests.lock().unwrap().len(), calls);
    }
}

#[tokio::test]
async fn an_unknown_model_tool_or_default_is_a_clear_error() {
    let (ai, _) = app([asks(vec![request("nope", "r", json!({}))])]);
    let check = |status: Status, code, message: &str| {
        assert_eq!((status.code(), status.outgoing().message.as_str()), (code, message));
    };
    check(
        ai.generate().model("scrip").prompt("x").await.unwrap_err(),
        StatusCode::NotFound,
        "Model 'scrip' not found",
    );
    let hint = ai.generate().model("scrip").prompt("x").await.unwrap_err().to_string();
    assert!(hint.contains("did you mean `script`?"), "{hint}");
    check(
        ai.generate().prompt("x").tool_named("gone").await.unwrap_err(),
        StatusCode::NotFound,
        "Tool 'gone' not found",
    );
    check(
        ai.generate().prompt("x").await.unwrap_err(),
        StatusCode::NotFound,
        "Tool nope not found",
    );
    check(
        ai.generate().await.unwrap_err(),
        StatusCode::InvalidArgument,
        "at least one message is required in generate request",
    );
    let bare = Oxikit::builder().build().unwrap();
    check(
        bare.generate().prompt("x").await.unwrap_err(),
        StatusCode::InvalidArgument,
        "Must supply a `model` to `generate()` calls.",
    );
}

#[tokio::test]
async fn two_tools_that_a_model_cannot_tell_apart_are_refused() {
    let (ai, _) = app([]);
    let tool = |name: &str| Tool::new(name, "x", |_: ()| async { Ok(()) });
    let status = ai.generate().prompt("x").tools([tool("a/x"), tool("b/x")]).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
}

#[tokio::test]
async fn a_namespaced_tool_is_known_by_its_last_name() {
    let (ai, script) = app([asks(vec![request("inner", "r", json!({}))]), says("done")]);
    let tool = Tool::new("ns/inner", "n", |_: Value| async { Ok("inner") });
    ai.generate().prompt("x").tool(tool).await.unwrap();
    let definition = json!(script.last_request().tools.unwrap()[0]);
    assert_eq!(definition["name"], "inner");
    assert_eq!(definition["key"], "/tool/ns/inner");
    assert_eq!(definition["metadata"], json!({"originalName": "ns/inner"}));
}

#[tokio::test]
async fn a_tool_that_fails_or_panics_fails_its_own_call_only() {
    let ask = || asks(vec![request("bad", "r", json!({}))]);
    let (ai, _) = app([ask(), says("still here")]);
    ai.define_tool(Tool::new("bad", "Panics.", |_: Value| async move {
        if true {
            panic!("secret-7");
        }
        Ok(())
    }));
    let status = ai.generate().prompt("x").tool_named("bad").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Internal);
    assert!(!status.outgoing().message.contains("secret-7"));
    assert!(status.to_string().ends_with("(in the tool `bad`)"), "{status}");
    assert_eq!(ai.generate().prompt("x").await.unwrap().text(), "still here");
}

#[tokio::test]
async fn wrong_tool_arguments_name_the_place() {
    let (ai, _) = app([asks(vec![request("add", "r", json!({"a": "two", "b": 3}))])]);
    let status = ai.generate().prompt("x").tool(add()).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("- a: must be number"), "{status}");
    assert!(status.to_string().ends_with("(in the tool `add`)"), "{status}");
}

#[tokio::test]
async fn a_multipart_tool_answers_with_parts_and_notes() {
    let (ai, script) = app([asks(vec![request("multi", "r", json!({}))]), says("done")]);
    ai.define_tool(Tool::builder("multi").description("m").multipart(|_: Value| async {
        Ok(oxikit::wire::MultipartToolResponse {
            output: Some(json!({"a": 1})),
            content: Some(vec![Part::text("extra")]),
            metadata: json!({"k": 1}).as_object().cloned(),
        })
    }));
    ai.generate().prompt("x").tool_named("multi").await.unwrap();
    assert_eq!(
        json!(script.last_request().messages[2].content[0]),
        json!({
            "toolResponse": {"name": "multi", "ref": "r", "output": {"a": 1}, "content": [{"text": "extra"}]},
            "metadata": {"k": 1},
        })
    );
}

#[tokio::test]
async fn a_tool_without_a_result_leaves_the_output_out() {
    let (ai, script) = app([asks(vec![request("quiet", "r", json!({}))]), says("done")]);
    let quiet = Tool::new("quiet", "q", |_: Value| async { Ok(()) });
    ai.generate().prompt("x").tool(quiet).await.unwrap();
    assert_eq!(
        json!(script.last_request().messages[2].content[0]),
        json!({"toolResponse": {"name": "quiet", "ref": "r"}})
    );
}

fn interrupting(ai: &Oxikit) {
    ai.define_tool(Tool::new("zero", "z", |_: Value| async { Ok(0) }));
    ai.define_tool(Tool::interrupt::<Value>("ask", "Asks the user."));
}

#[tokio::test]
async fn an_interrupt_ends_the_call_and_notes_what_is_known() {
    let parts = vec![request("zero", "z", json!({})), request("ask", "k", json!({"q": "x"}))];
    let (ai, script) = app([asks(parts), says("thanks")]);
    interrupting(&ai);
    let reply = ai.generate().prompt("x").tool_named("zero").tool_named("ask").await.unwrap();
    assert_eq!(reply.finish_reason(), Some(FinishReason::Interrupted));
    assert_eq!(
        json!(reply.message().unwrap().content),
        json!([
            {"toolRequest": {"name": "zero", "input": {}, "ref": "z"}, "metadata": {"pendingOutput": 0}},
            {"toolRequest": {"name": "ask", "input": {"q": "x"}, "ref": "k"}, "metadata": {"interrupt": true}},
        ])
    );

    let answer = respond_to(reply.interrupts().next().unwrap().as_tool_request().unwrap(), "yes");
    let resumed = ai
        .generate()
        .messages(reply.messages())
        .tool_named("zero")
        .tool_named("ask")
        .respond(answer)
        .await
        .unwrap();
    assert_eq!(resumed.text(), "thanks");
    assert_eq!(
        json!(script.last_request().messages[1..]),
        json!([
            {"role": "model", "content": [
                {"toolRequest": {"name": "zero", "input": {}, "ref": "z"}},
                {"toolRequest": {"name": "ask", "input": {"q": "x"}, "ref": "k"}, "metadata": {"resolvedInterrupt": true}},
            ]},
            {"role": "tool", "content": [
                {"toolResponse": {"name": "zero", "ref": "z", "output": 0}, "metadata": {"source": "pending"}},
                {"toolResponse": {"name": "ask", "ref": "k", "output": "yes"}, "metadata": {"interruptResponse": true}},
            ], "metadata": {"resumed": true}},
        ])
    );
}

#[tokio::test]
async fn a_restarted_tool_learns_that_it_was_resumed() {
    let (ai, _) = app([asks(vec![request("pay", "p", json!(500))]), says("paid")]);
    ai.define_tool(Tool::new("pay", "Pays.", |amount: u32, ctx: Context| async move {
        match ctx.resumed() {
            Some(resumed) if resumed["approved"] == true => Ok(format!("paid {amount}")),
            Some(_) => Err(interrupt(json!({"again": true}))),
            None => Err(interrupt(json!({"reason": "much money"}))),
        }
    }));
    let reply = ai.generate().prompt("x").tool_named("pay").await.unwrap();
    let waiting = reply.interrupts().next().unwrap();
    assert_eq!(waiting.metadata("interrupt"), Some(&json!({"reason": "much money"})));

    let again = ai.generate().messages(reply.messages()).tool_named("pay");
    let status = again.restart(restart_of(waiting, json!({"approved": false}))).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);

    let again = ai.generate().messages(reply.messages()).tool_named("pay");
    let done = again.restart(restart_of(waiting, json!({"approved": true}))).await.unwrap();
    assert_eq!(done.text(), "paid");
    assert_eq!(
        done.response().request.as_ref().unwrap().messages[2].content[0]
            .as_tool_response()
            .unwrap()
            .output,
        Some(json!("paid 500"))
    );
}

#[tokio::test]
async fn resuming_without_an_answer_or_without_an_interrupt_is_refused() {
    let (ai, _) = app([asks(vec![request("ask", "k", json!({}))])]);
    interrupting(&ai);
    let reply = ai.generate().prompt("x").tool_named("ask").await.unwrap();
    let mut options = GenerateActionOptions {
        messages: reply.messages(),
        tools: Some(vec!["ask".into()]),
        resume: Some(ResumeOptions::default()),
        ..Default::default()
    };
    let run = |options: &GenerateActionOptions| {
        let (ai, options) = (ai.clone(), options.clone());
        async move { ai.registry().run("/util/generate", Call::new(options)).await.unwrap_err() }
    };
    let status = run(&options).await;
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().starts_with("Unresolved tool request 'ask#k'"), "{status}");
    options.messages.truncate(1);
    assert_eq!(run(&options).await.code(), StatusCode::FailedPrecondition);
}

#[tokio::test]
async fn tool_requests_can_be_returned_instead_of_run() {
    let (ai, _) = app([asks(vec![request("add", "r", json!({"a": 1, "b": 1}))])]);
    let reply = ai.generate().prompt("x").tool(add()).return_tool_requests().await.unwrap();
    assert_eq!(
        reply.tool_requests().map(|request| request.name.as_str()).collect::<Vec<_>>(),
        ["add"]
    );
    assert_eq!(reply.finish_reason(), Some(FinishReason::Stop));
}

#[tokio::test]
async fn a_blocked_or_missing_answer_is_a_failed_precondition() {
    let blocked = GenerateResponse {
        finish_reason: Some(FinishReason::Blocked),
        finish_message: Some("why".into()),
        ..Default::default()
    };
    let empty = GenerateResponse { finish_reason: Some(FinishReason::Stop), ..Default::default() };
    let (ai, _) = app([(Vec::new(), Ok(blocked)), (Vec::new(), Ok(empty))]);
    let status = ai.generate().prompt("x").await.unwrap_err();
    assert_eq!(status.to_string(), "FAILED_PRECONDITION: Generation blocked: why");
    let status = ai.generate().prompt("x").await.unwrap_err();
    assert_eq!(
        status.to_string(),
        "FAILED_PRECONDITION: Model did not generate a message. Finish reason: 'stop'"
    );
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Recipe {
    title: String,
    minutes: u32,
}

#[tokio::test]
async fn typed_output_is_asked_for_read_and_checked() {
    let (ai, script) = app([
        says("Sure:\n```json\n{\"title\": \"Soup\", \"minutes\": 20,}\n```"),
        says("{\"title\": \"Soup\"}"),
        says("no JSON at all"),
    ]);
    let reply = ai.generate().prompt("P").output::<Recipe>().await.unwrap();
    assert_eq!(reply.output().unwrap(), Recipe { title: "Soup".into(), minutes: 20 });
    assert_eq!(
        reply.message().unwrap().metadata,
        json!({"generate": {"output": {"contentType": "application/json", "format": "json"}}})
            .as_object()
            .cloned()
    );
    let asked = script.last_request();
    assert_eq!(json!(asked.output), json!({"constrained": false}));
    assert!(
        asked.messages[0].content[1]
            .as_text()
            .unwrap()
            .starts_with("Output should be in JSON format")
    );

    let status = ai.generate().prompt("P").output::<Recipe>().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains("must have required property 'minutes'"), "{status}");
    assert!(status.to_string().ends_with("(the model said: {\"title\": \"Soup\"})"), "{status}");
    let status = ai.generate().prompt("P").output::<Recipe>().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.to_string().ends_with("(the model said: no JSON at all)"), "{status}");
}

#[tokio::test]
async fn documents_are_written_out_for_models_without_a_place_for_them() {
    let (ai, script) = app([says("ok")]);
    let docs = [Document::text("doc one").with_metadata("ref", "R1"), Document::text("doc two")];
    ai.generate().system("SYS").prompt("P").docs(docs).await.unwrap();
    assert_eq!(
        json!(script.last_request().messages[1].content),
        json!([
            {"text": "P"},
            {
                "text": "\n\nUse the following information to complete your task:\n\n- [R1]: doc one\n- [1]: doc two\n\n",
                "metadata": {"purpose": "context"},
            },
        ])
    );
}

#[tokio::test]
async fn a_flow_calls_a_model_below_itself_and_passes_its_caller_on() {
    let (ai, _) = app([asks(vec![request("who", "r", json!({}))]), says("done")]);
    ai.define_tool(Tool::new("who", "Tells the caller.", |_: Value, ctx: Context| async move {
        Ok(ctx.auth().cloned().unwrap_or_default())
    }));
    ai.define_flow("outer", |question: String, ctx: Context| async move {
        let reply = ctx.generate().prompt(question).tool_named("who").await?;
        let answer = reply.messages()[2].content[0].as_tool_response().unwrap().output.clone();
        Ok(answer.unwrap_or_default())
    });
    let context = ActionContext::default().with("auth", json!({"uid": "ada"}));
    let output =
        ai.registry().run("/flow/outer", Call::new("hi").with_context(context)).await.unwrap();
    assert_eq!(output.to_value().unwrap(), json!({"uid": "ada"}));
}

#[tokio::test]
async fn a_key_for_one_call_reaches_the_model_and_not_the_answer() {
    let (ai, script) = app([says("ok")]);
    let reply =
        ai.generate().prompt("x").config(json!({"apiKey": "k-1", "topK": 1})).await.unwrap();
    assert_eq!(script.last_request().config, Some(json!({"apiKey": "k-1", "topK": 1})));
    assert_eq!(reply.response().request.as_ref().unwrap().config, Some(json!({"topK": 1})));
}
