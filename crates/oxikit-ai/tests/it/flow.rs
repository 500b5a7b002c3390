//! Flows that are run and streamed in code.

use futures_util::StreamExt;
use oxikit::Flow;
use oxikit::prelude::*;

/// A flow that sends something that is not a number, then a number, then ends.
fn odd_flow(fails: bool) -> Flow<(), String, u32> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("odd", move |_: (), _: Context, out: Emitter<u32>| async move {
        out.retype::<&'static str>().send("not a number").await?;
        out.send(1).await?;
        if fails {
            return Err(Status::not_found("nothing to count"));
        }
        Ok("done".to_owned())
    })
}

#[tokio::test]
async fn a_chunk_that_cannot_be_read_is_an_error_and_the_stream_goes_on() {
    let mut stream = odd_flow(false).stream(()).unwrap();
    let items: Vec<_> = (&mut stream).map(Result::ok).collect().await;
    assert_eq!(items, [None, Some(1)]);
    assert_eq!(stream.finish().await.unwrap(), "done");
}

#[tokio::test]
async fn the_failure_of_a_flow_is_the_last_item() {
    let mut stream = odd_flow(true).stream(()).unwrap();
    assert!(stream.next().await.unwrap().is_err());
    assert_eq!(stream.next().await.unwrap().unwrap(), 1);
    let last = stream.next().await.unwrap().unwrap_err();
    assert!(stream.next().await.is_none());
    let status = stream.finish().await.unwrap_err();
    assert_eq!((status.message(), last.message()), ("nothing to count", "nothing to count"));
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[tokio::test]
async fn inputs_need_no_conversion_and_no_annotation() {
    let ai = Oxikit::builder().build().unwrap();
    let greet = ai.define_flow("greet", async |name: String| Ok(format!("Hello, {name}!")));
    let name = String::from("Ada");
    assert_eq!(greet.run("Ada").await.unwrap(), "Hello, Ada!");
    assert_eq!(greet.run(&name).await.unwrap(), "Hello, Ada!");
    assert_eq!(greet.stream(&*name).unwrap().finish().await.unwrap(), "Hello, Ada!");
    assert_eq!(greet.run(name).await.unwrap(), "Hello, Ada!");

    let double = ai.define_flow("double", async |n: u64| Ok(n * 2));
    assert_eq!(double.run(3).await.unwrap(), 6);
    let half = ai.define_flow("half", async |n: f32| Ok(n / 2.0));
    assert_eq!(half.run(3.0).await.unwrap(), 1.5);
    let count = ai.define_flow("count", async |all: Vec<String>| Ok(all.len()));
    assert_eq!(count.run(vec![]).await.unwrap(), 0);
    let maybe = ai.define_flow("maybe", async |n: Option<u8>| Ok(n.is_some()));
    assert!(!maybe.run(None).await.unwrap());
    let echo = ai.define_flow("echo", async |value: Value| Ok(value));
    assert_eq!(echo.run(json!({"a": 1})).await.unwrap(), json!({"a": 1}));
    let city = ai.define_flow("city", async |place: Place| Ok(place.city));
    assert_eq!(city.run(Place { city: "Lisbon".into() }).await.unwrap(), "Lisbon");
    let nothing = ai.define_flow("nothing", async |_: ()| Ok(1));
    assert_eq!(nothing.run(()).await.unwrap(), 1);
}
