//! Resources: found by URI, read, and noted in what they gave.

use oxikit::{Call, Context, Oxikit, Part, Resource, ResourceRequest, Result, Status, StatusCode};
use serde_json::{Value, json};

async fn read(ai: &Oxikit, key: &str, uri: &str) -> Result<Value> {
    ai.registry().run(key, Call::new(json!({ "uri": uri }))).await?.to_value()
}

#[tokio::test]
async fn a_resource_with_one_uri_is_listed_and_read() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let resource = ai.define_resource(
        Resource::uri("config://app")
            .description("The configuration")
            .handler(|_: ResourceRequest| async { Ok("port: 80") }),
    );
    assert_eq!(resource.action().key(), "/resource/config://app");
    assert_eq!(
        json!(resource.action().descriptor().metadata),
        json!({ "resource": { "uri": "config://app" }, "type": "resource", "dynamic": false })
    );
    assert_eq!(
        read(&ai, "/resource/config://app", "config://app").await?,
        json!({
            "content": [{
                "text": "port: 80",
                "metadata": { "resource": { "uri": "config://app" } },
            }],
        })
    );
    Ok(())
}

#[tokio::test]
async fn a_template_gives_its_variables_to_the_function() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_resource(
        Resource::template("db://{table}/{row}")?.name("rows").metadata("tier", 1).handler(
            |request: ResourceRequest, _: Context| async move {
                assert_eq!(request.variable("none"), "");
                let (table, row) = (request.variable("table"), request.variable("row"));
                Ok(vec![Part::text(table), Part::text(row)])
            },
        ),
    );
    let listed = ai.registry().get("/resource/rows").unwrap();
    assert_eq!(
        json!(listed.descriptor().metadata),
        json!({
            "tier": 1,
            "resource": { "template": "db://{table}/{row}" },
            "type": "resource",
            "dynamic": false,
        })
    );
    let origin = json!({
        "resource": { "uri": "db://people/a%20b", "template": "db://{table}/{row}" },
    });
    assert_eq!(
        read(&ai, "/resource/rows", "db://people/a%20b").await?,
        json!({
            "content": [
                { "text": "people", "metadata": origin },
                { "text": "a b", "metadata": origin },
            ],
        })
    );
    Ok(())
}

#[tokio::test]
async fn a_part_of_another_resource_keeps_its_origin_and_gets_a_parent() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_resource(Resource::uri("all://things").handler(|_: ResourceRequest| async {
        let mut part = Part::text("x");
        part.metadata = json!({ "resource": { "uri": "one://thing" } }).as_object().cloned();
        Ok(part)
    }));
    assert_eq!(
        read(&ai, "/resource/all://things", "all://things").await?,
        json!({
            "content": [{
                "text": "x",
                "metadata": {
                    "resource": { "uri": "one://thing", "parent": { "uri": "all://things" } },
                },
            }],
        })
    );
    Ok(())
}

#[tokio::test]
async fn a_uri_of_another_resource_is_refused_and_a_failure_passed_on() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_resource(Resource::template("file://{path}")?.name("files").handler(
        |request: ResourceRequest| async move {
            Err::<String, _>(Status::permission_denied(format!(
                "`{}` is not for you",
                request.variable("path")
            )))
        },
    ));
    let status = read(&ai, "/resource/files", "http://a").await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (StatusCode::InvalidArgument, "`http://a` is not a URI of the resource `file://{path}`")
    );
    let status = read(&ai, "/resource/files", "file://etc/passwd").await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (StatusCode::PermissionDenied, "`etc/passwd` is not for you")
    );
    Ok(())
}

#[test]
fn a_broken_template_is_refused_when_it_is_defined() {
    let status = Resource::template("file://{path").unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (StatusCode::InvalidArgument, "`file://{path` is not a URI template: a `{` is not closed")
    );
}
