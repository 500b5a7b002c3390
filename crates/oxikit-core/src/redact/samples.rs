//! Samples of every format, made when the tests run: no scanner of secrets is to find one in
//! the repository.

use std::borrow::Cow;

use super::formats::{Alphabet, FORMATS};
use super::{REDACTED, text};

/// Letters of an alphabet, always with a digit among the first ones.
fn letters(alphabet: Alphabet, length: usize, seed: u64) -> String {
    let all: Vec<char> =
        (0x21..0x7f_u8).filter(|byte| alphabet.has(*byte)).map(char::from).collect();
    // Separators are neither first nor last, and no two stand together.
    let plain: Vec<char> = all.iter().copied().filter(char::is_ascii_alphanumeric).collect();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = String::new();
    for place in 0..length {
        let may_separate = place % 4 == 2 && place + 1 < length;
        let from = if may_separate { &all } else { &plain };
        text.push(if place == 1 { '7' } else { from[random.usize(..from.len())] });
    }
    text
}

/// Texts around secrets. `§` stands for a secret.
const PLACES: [(&str, &str); 8] = [
    ("plain text", "the key is § and nothing else"),
    ("the end of a sentence", "the key is §."),
    ("a JSON string", r#"{"text":"§","n":1}"#),
    ("a line in a JSON string", r#"{"text":"a\n§\nb"}"#),
    ("JSON inside of a JSON string", r#"{"text":"{\"a\":\"§\"}"}"#),
    ("a query", "GET /v1/things?k=§&n=1 HTTP/1.1"),
    ("a query with escapes", "GET /v1/things?k=%22§%22&n=1 HTTP/1.1"),
    ("a header", "X-Something: §\r\nHost: example.com"),
];

#[track_caller]
fn covers(provider: &str, secret: &str) {
    for (place, template) in PLACES {
        let planted = template.replace('§', secret);
        let covered = text(&planted);
        assert!(!covered.contains(secret), "{provider} in {place}: {covered}");
        assert_eq!(covered, template.replace('§', REDACTED), "{provider} in {place}");
    }
}

#[test]
fn every_format_is_covered_wherever_it_stands() {
    assert!(FORMATS.len() >= 150, "{} formats", FORMATS.len());
    for (number, format) in FORMATS.iter().enumerate() {
        // Also a bit longer than the minimum.
        for more in [0, 3] {
            let seed = number as u64 * 8 + more as u64;
            let length = format.length.max(11) + more;
            let secret = format!("{}{}", format.mark, letters(format.rest, length, seed));
            covers(format.provider, &secret);
        }
    }
}

#[test]
fn other_shapes_are_covered_wherever_they_stand() {
    use Alphabet::{Alnum, Hex, Token, Word};
    let all = |alphabet, length| letters(alphabet, length, 99);
    for (provider, secret) in [
        ("OpenAI", format!("sk-{}", all(Alnum, 48))),
        ("OpenAI project", format!("sk-proj-{}T3Blb{}", all(Word, 58), all(Word, 58))),
        ("Anthropic", format!("sk-ant-api03-{}AA", all(Word, 93))),
        ("OpenRouter", format!("sk-or-v1-{}", all(Hex, 64))),
        ("Airtable", format!("pat{}.{}", all(Alnum, 14), all(Hex, 64))),
        ("Microsoft Entra", format!("ab{}8Q~{}", 'c', all(Word, 34))),
        ("Terraform Cloud", format!("{}.atlasv1.{}", all(Alnum, 14), all(Token, 67))),
        ("MaxMind", format!("{}_{}_mmk", all(Alnum, 6), all(Alnum, 29))),
        ("Discord", format!("M{}.{}.{}", all(Alnum, 23), all(Alnum, 6), all(Word, 27))),
        ("Mailchimp", format!("{}-us{}", all(Hex, 32).to_lowercase(), 12)),
        ("Telegram", format!("{}:AA{}", 1_234_567_890_u64, all(Word, 33))),
        ("a web token", format!("eyJ{}.eyJ{}.{}", all(Alnum, 20), all(Alnum, 30), all(Word, 43))),
    ] {
        covers(provider, &secret);
    }
}

#[test]
fn keys_without_a_shape_are_covered_under_their_names() {
    let azure = format!("{}==", letters(Alphabet::Alnum, 86, 5));
    let aws = letters(Alphabet::Alnum, 40, 6);
    for (template, secret) in [
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=§;EndpointSuffix=x", &azure),
        ("Endpoint=sb://a/;SharedAccessKeyName=n;SharedAccessKey=§", &azure),
        (r#"{"AccountKey":"§"}"#, &azure),
        (r#"{"connectionString":"§"}"#, &azure),
        ("aws_secret_access_key=§", &aws),
        ("AWS_SECRET_ACCESS_KEY=§", &aws),
        (r#"{"SecretAccessKey":"§"}"#, &aws),
        (r#"{"awsSecretKey":"§"}"#, &aws),
        (r#"{"pwd":"§"}"#, &aws),
        (r#"{"dbPwd":"§"}"#, &aws),
        ("Server=db;Uid=ada;Pwd=§;", &aws),
        (r#"{"passwd":"§","passphrase":"§"}"#, &aws),
        (r#"{"secret_key":"§"}"#, &aws),
        (r#"{"signing_key":"§","encryptionKey":"§"}"#, &aws),
        ("Ocp-Apim-Subscription-Key: §", &aws),
    ] {
        let planted = template.replace('§', secret);
        assert_eq!(text(&planted), template.replace('§', REDACTED));
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    // Every alphabet in a long line, as pictures are sent.
    let picture = letters(Alphabet::Base64, 20_000, 3).replace(['_', '='], "A");
    for clean in [
        "0b3c5a4e-8f1d-4c2b-9e7a-1234567890ab".to_owned(),
        "da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned(),
        "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7".to_owned(),
        r#"{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7"}"#.to_owned(),
        format!("data:image/png;base64,{picture}"),
        format!(r#"{{"url":"data:image/png;base64,{picture}"}}"#),
        "sk_buff sk_alloc sk_live_view_component sk_test_case_names_are_long_enough".to_owned(),
        "hf_model_name hf_hub_download hf_transformers_cache_directory_of_the_project".to_owned(),
        "npm_config_registry npm_lifecycle_event npm_package_dependencies_of_this_project"
            .to_owned(),
        "key-value-pairs-of-the-table re_export_of_the_names_of_a_module live_reload_of_pages"
            .to_owned(),
        "pattern.matching.of.words patent-pending path/to/file SKIP SKU-2026 API-VERSION"
            .to_owned(),
        "api_org_chart test_that_a_long_name_of_a_function_is_not_taken_for_a_key".to_owned(),
        "v1.0-beta.2 t1.micro s3://bucket/key sl.no dp.pt.br r8_unorm fm2_radio".to_owned(),
        "glpat- glrt- xoxb- ghp_ secret_santa_list_of_the_whole_family".to_owned(),
        "PWD=/srv/ada/projects/tea-2026 OLDPWD=/srv/www/2026".to_owned(),
        r#"{"pwdPolicy":"long","connectionStringName":"main","keys":1,"string":"x"}"#.to_owned(),
        "EAAAAAAA QAAAAAAA AKIAS LTAI4 cmVmdXNlZA dapipe ABSKIP".to_owned(),
        "10:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA at 12:30:AA".to_owned(),
        "access-production-logs-of-the-whole-year discord.com/api/webhooks/ is a path".to_owned(),
    ] {
        let covered = text(&clean);
        let shown = &covered[..covered.floor_char_boundary(300)];
        assert!(
            matches!(covered, Cow::Borrowed(_)),
            "{} became {shown}",
            &clean[..clean.len().min(100)]
        );
    }
}
