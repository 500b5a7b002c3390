//! Wrong media types, versions and methods of HTTP.

use oxikit_wire::a2a::ErrorKind::{ContentTypeNotSupported, MethodNotFound, VersionNotSupported};
use oxikit_wire::a2a::Version;

use super::{WAYS, Way, answer_json, assert_says_nothing_inside, target};

const WRONG_TYPES: [&str; 7] = [
    "Content-Type: text/plain\r\n",
    "Content-Type: application/x-www-form-urlencoded\r\n",
    "Content-Type: multipart/form-data; boundary=x\r\n",
    "Content-Type: application/json; charset=iso-8859-1\r\n",
    "Content-Type: application/json\r\nContent-Type: application/json\r\n",
    "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
    "Content-Type: \u{1}\r\n",
];

/// A wrong type is an error of the protocol over JSON-RPC, and one of HTTP over HTTP+JSON.
#[tokio::test]
async fn other_media_types_are_refused() {
    let target = target().await;
    for way in WAYS {
        let (path, body) = way.send(false, &way.send_params().to_string());
        for headers in WRONG_TYPES {
            let version = format!("A2A-Version: {}\r\n", way.version().name());
            let answer = target.request("POST", &path, &format!("{version}{headers}"), &body).await;
            let context = format!("{way:?} {headers:?} {} {}", answer.status, answer.text());
            if headers.contains('\u{1}') {
                // Not a header of HTTP: the connection is refused before the protocol.
                assert_eq!(answer.status, 400, "{context}");
                continue;
            }
            let code = match way {
                Way::Rpc(_) => {
                    assert_eq!(answer.status, 200, "{context}");
                    answer_json(&answer)["error"]["code"].clone()
                }
                Way::Rest(Version::V0_3) => answer_json(&answer)["code"].clone(),
                Way::Rest(Version::V1_0) => {
                    let error = answer_json(&answer)["error"].clone();
                    assert_eq!(error["details"][0]["reason"], ContentTypeNotSupported.reason());
                    ContentTypeNotSupported.code(Version::V1_0).into()
                }
            };
            assert_eq!(code, ContentTypeNotSupported.code(way.version()), "{context}");
            if let Way::Rest(_) = way {
                assert_eq!(answer.status, 415, "{context}");
            }
            assert_says_nothing_inside(answer.text(), &context);
        }
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn versions_that_are_unknown_or_contradict_are_refused() {
    let target = target().await;
    for way in WAYS {
        let (path, body) = way.send(false, &way.send_params().to_string());
        let other = if way.version() == Version::V0_3 { "1.0" } else { "0.3" };
        for version in ["2.0", "0.2", "1", "1.1", "one", "1.0.x", "1.0,0.3", "\u{e9}", other] {
            let header = format!("A2A-Version: {version}\r\n");
            let answer = target.post(&path, &header, &body).await;
            // An unknown version is refused in the form of 1.0. A method of 0.3 is not one of 1.0.
            let (form, kind) = match way {
                Way::Rpc(Version::V0_3) if version == other => {
                    (Way::Rpc(Version::V1_0), MethodNotFound)
                }
                Way::Rpc(_) => (Way::Rpc(Version::V1_0), VersionNotSupported),
                Way::Rest(_) => (way, VersionNotSupported),
            };
            form.assert_refused(&answer, kind, version);
        }
        // The number of a patch does not count.
        let header = format!("A2A-Version: {}.7\r\n", way.version().name());
        let answer = target.post(&path, &header, &body).await;
        assert_eq!(answer.status, 200, "{way:?} {}", answer.text());
        assert!(answer_json(&answer).get("error").is_none(), "{way:?} {}", answer.text());
    }
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there_are_refused() {
    let target = target().await;
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let answer = target.request(method, "/a2a/counted", "", "").await;
        assert_eq!(answer.status, 405, "{method}");
        assert_says_nothing_inside(answer.text(), method);
    }
    let known = [
        ("GET", "message:send"),
        ("PUT", "message:send"),
        ("DELETE", "tasks"),
        ("PUT", "tasks/t"),
        ("GET", "tasks/t:cancel"),
        ("DELETE", "tasks/t/pushNotificationConfigs"),
        ("POST", "tasks/t/pushNotificationConfigs/p"),
    ];
    for (method, path) in known {
        for (version, prefix) in [(Version::V0_3, "v1/"), (Version::V1_0, "")] {
            let whole = format!("/a2a/counted/{prefix}{path}");
            let answer = target.request(method, &whole, "", "").await;
            Way::Rest(version).assert_refused(&answer, MethodNotFound, &whole);
        }
    }
    let unknown = [
        ("POST", "message:fly"),
        ("GET", "tasks/t/u/v"),
        ("GET", "tasks/%ff"),
        ("GET", "tasks/../../etc/passwd"),
        ("GET", "tasks/t:__proto__"),
    ];
    for (method, path) in unknown {
        for prefix in ["v1/", ""] {
            let whole = format!("/a2a/counted/{prefix}{path}");
            let answer = target.request(method, &whole, "", "").await;
            // A path that names no operation names no version.
            Way::Rest(Version::V1_0).assert_refused(&answer, MethodNotFound, &whole);
        }
    }
    target.assert_untouched().await;
}
