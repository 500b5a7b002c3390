//! Bare templates and custom helpers.

use oxikit_dotprompt::{Environment, ErrorKind};
use serde_json::{Value, json};

use crate::text;

fn environment() -> Environment {
    Environment::new()
        .helper("sum", |args, _| {
            Ok::<_, String>(args.iter().filter_map(Value::as_i64).sum::<i64>())
        })
        .helper("wrap", |args, hash| match (args.first(), hash.get("with")) {
            (Some(Value::String(text)), Some(Value::String(with))) => {
                Ok(format!("{with}{text}{with}"))
            }
            _ => Err("give me a text and `with`"),
        })
}

#[track_caller]
fn check(template: &str, input: Value, expected: &str) {
    assert_eq!(text(&environment(), template, input).as_deref(), Ok(expected));
}

#[test]
fn custom_helpers_print_what_they_return() {
    check("{{sum a 2}} {{wrap \"x\" with=\"*\"}}", json!({ "a": 1 }), "3 *x*");
}

#[test]
fn custom_helpers_nest_and_give_lists_to_blocks() {
    let environment = environment().helper("range", |args, _| {
        let end = args[0].as_u64().unwrap_or(0);
        Ok::<_, String>((0..end).collect::<Vec<_>>())
    });
    let template = "{{#each (range (sum 1 2))}}{{this}}{{/each}}";
    assert_eq!(text(&environment, template, json!({})).unwrap(), "012");
}

#[test]
fn a_custom_helper_as_a_block_chooses_a_branch() {
    let template = "{{#sum a}}some{{else}}none{{/sum}}";
    check(template, json!({ "a": 1 }), "some");
    check(template, json!({}), "none");
}

#[test]
fn a_helper_that_fails_says_so_with_its_place() {
    let error = text(&environment(), "ab {{wrap 1}}", json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Render);
    assert_eq!(
        error.to_string(),
        "helper `wrap` failed: give me a text and `with` (line 1, column 4)"
    );
}

#[test]
fn integers_beyond_two_to_the_53_stay_exact() {
    check(
        "{{n}} {{json n}}",
        json!({ "n": 9_007_199_254_740_993_i64 }),
        "9007199254740993 9007199254740993",
    );
}

#[test]
fn the_variables_of_a_template_can_be_listed() {
    let environment =
        environment().partial("p", "{{given}} {{wanted}} {{#each xs}}{{inner}}{{/each}}");
    let template = "{{a.b}} {{#if c}}{{d}}{{/if}} {{#each e as |x|}}{{x.y}}{{f}}{{../g}}{{/each}} \
        {{sum h}} {{@root.i}} {{@auth.j}} {{this.k}} {{> p given=l}} {{history}}";
    let compiled = environment.compile_template(template).unwrap();
    let variables: Vec<_> = compiled.variables().into_iter().collect();
    assert_eq!(variables, ["a", "c", "d", "e", "g", "h", "i", "k", "l", "wanted", "xs"]);
}

#[test]
fn a_plain_text_template_can_not_change_roles() {
    assert!(text(&environment(), "{{role \"user\"}}", json!({})).is_err());
}

#[test]
fn a_role_can_not_be_an_argument() {
    let error = text(&environment(), "{{json (role \"user\")}}", json!({})).unwrap_err();
    assert!(error.message().contains("`role`"), "{error}");
}

#[test]
fn partials_come_from_the_resolver_by_dynamic_name_too() {
    let environment =
        Environment::new().partial_resolver(|name| Some(format!("<{name} {{{{a}}}}>")));
    let input = json!({ "which": "p", "a": 1 });
    assert_eq!(
        text(&environment, "{{> (lookup this 'which')}}{{> q}}", input).unwrap(),
        "<p 1><q 1>"
    );
}
