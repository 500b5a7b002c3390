//! The secrets that the test plants.

use serde_json::{Value, json};

/// Prefixes of the keys of providers and services.
const SHAPES: [&str; 16] = [
    "sk-",
    "sk-proj-",
    "sk-ant-",
    "AIza",
    "AKIA",
    "ASIA",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "Bearer ",
    "eyJ",
];

/// Names of members whose values are secret.
const NAMES: [&str; 24] = [
    "password",
    "Password",
    "dbPassword",
    "passwd",
    "passphrase",
    "secret",
    "client_secret",
    "clientSecret",
    "api_key",
    "apiKey",
    "x-api-key",
    "Authorization",
    "authorization",
    "proxy-authorization",
    "cookie",
    "Set-Cookie",
    "token",
    "access_token",
    "refreshToken",
    "id_token",
    "private_key",
    "aws_secret_access_key",
    "credentials",
    "sessionToken",
];

/// Names of environment variables of the developer tools and of the application.
const VARIABLES: [&str; 12] = [
    "GEMINI_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "DATABASE_URL",
    "PGPASSWORD",
    "NPM_TOKEN",
    "MY_FAVOURITE_COLOUR",
    "MAIL_SERVER",
    "COMPANY",
    "HOME_TOWN",
    "GENKIT_SOMETHING",
];

/// A unique secret.
fn secret(group: &str, number: usize) -> String {
    format!("{group}{number:02}Qz7Vx81JqvN2LmT4bYcWd0RkUaEo")
}

/// The planted secrets, by place.
pub(super) struct Planted {
    pub(super) by_shape: Vec<String>,
    pub(super) by_name: Vec<(&'static str, String)>,
    pub(super) by_variable: Vec<(&'static str, String)>,
    /// Passwords in URLs.
    pub(super) in_urls: Vec<String>,
    /// The context of a caller.
    pub(super) in_auth: [String; 2],
    /// Secrets of the developer tools.
    pub(super) tokens: [String; 3],
}

impl Planted {
    pub(super) fn new() -> Self {
        let named = |group: &'static str| {
            move |(number, name): (usize, &&'static str)| (*name, secret(group, number))
        };
        let shaped = |(number, shape): (usize, &&str)| match *shape {
            "eyJ" => format!("eyJ{}.eyJ{}.{}", secret("h", 1), secret("c", 2), secret("s", 3)),
            shape => format!("{shape}{}", secret("k", number)),
        };
        Self {
            by_shape: SHAPES.iter().enumerate().map(shaped).collect(),
            by_name: NAMES.iter().enumerate().map(named("n")).collect(),
            by_variable: VARIABLES.iter().enumerate().map(named("v")).collect(),
            in_urls: (0..3).map(|number| secret("u", number)).collect(),
            in_auth: [secret("a", 0), secret("a", 1)],
            tokens: Default::default(),
        }
    }

    /// All secrets, in the form in which they would be found.
    pub(super) fn all(&self) -> Vec<&str> {
        let named = self.by_name.iter().chain(&self.by_variable).map(|(_, value)| &**value);
        let shaped = self.by_shape.iter().map(|value| value.trim_start_matches("Bearer "));
        let others = self.in_urls.iter().chain(&self.in_auth).chain(&self.tokens);
        named.chain(shaped).chain(others.map(|value| &**value)).collect()
    }

    /// Text with all secrets that can be recognised in text.
    pub(super) fn text(&self) -> String {
        let shaped = self.by_shape.iter().map(|key| format!("the key {key} is good"));
        let named = self.by_name.iter().map(|(name, value)| format!("{name}={value}"));
        let urls = self.in_urls.iter().map(|word| format!("postgres://ada:{word}@db/shop"));
        shaped.chain(named).chain(urls).collect::<Vec<_>>().join(", \n")
    }

    /// An object with all secrets.
    pub(super) fn members(&self) -> Value {
        let mut members = json!({"keys": self.by_shape, "urls": self.in_urls});
        for (name, value) in &self.by_name {
            members[*name] = json!(value);
            members["headers"][*name] = json!([value]);
        }
        for url in members["urls"].as_array_mut().unwrap() {
            *url = json!(format!("https://ada:{}@host/", url.as_str().unwrap()));
        }
        members
    }

    /// A trace of a runtime that does not redact secrets.
    pub(super) fn trace(&self) -> Value {
        let inside = self.members();
        let mut attributes = json!({
            "genkit:input": inside.to_string(),
            "genkit:output": json!({"text": self.text()}).to_string(),
            "tree": inside,
        });
        for (name, value) in &self.by_name {
            attributes[*name] = json!(value);
        }
        json!({"traceId": "planted", "spans": {"s1": {
            "spanId": "s1", "traceId": "planted", "startTime": 1000, "endTime": 1001,
            "attributes": attributes, "displayName": self.text(), "spanKind": "INTERNAL",
            "instrumentationLibrary": {"name": "t"}, "status": {"code": 2, "message": self.text()},
            "timeEvents": {"timeEvent": [{"time": 1000, "annotation": {
                "description": "exception", "attributes": {"exception.message": self.text()}}}]},
        }}})
    }

    /// The same in OTLP, with a log line.
    pub(super) fn otlp(&self) -> Value {
        let attribute =
            |(name, value): &(&str, String)| json!({"key": name, "value": {"stringValue": value}});
        let mut attributes: Vec<_> = self.by_name.iter().map(attribute).collect();
        attributes.push(json!({"key": "text", "value": {"stringValue": self.text()}}));
        let ids = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        json!({
            "resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": [{
                "traceId": ids.0, "spanId": ids.1, "name": self.text(), "attributes": attributes,
                "startTimeUnixNano": "1", "endTimeUnixNano": "2"}]}]}],
            "resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1",
                "body": {"stringValue": self.text()}, "attributes": attributes}]}]}],
        })
    }
}
