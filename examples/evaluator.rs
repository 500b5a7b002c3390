//! Judges the answers of a flow: run it on a data set, then score what it said.
//!
//! ```sh
//! cargo run --bin evaluator
//! ```
//!
//! The same evaluator is found by the developer tools, which run flows and
//! evaluators themselves and keep the scores.

use oxikit::prelude::*;
use oxikit::{EvalDataPoint, Evaluator, Score, Scores};

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().build();

    // What is judged. It knows two capitals.
    let capital = ai.define_flow("capital", |country: String| async move {
        Ok(match country.as_str() {
            "France" => "Paris is the capital of France.",
            "Japan" => "Tokyo",
            _ => "I do not know.",
        }
        .to_owned())
    });

    let mentions = ai.define_evaluator(
        Evaluator::builder("mentions")
            .display_name("Mentions the reference")
            .definition("Passes if the answer holds the words of the reference.")
            .handler(|case: EvalDataPoint| async move {
                let Some(expected) = case.reference.as_ref().and_then(Value::as_str) else {
                    return Err(Status::invalid_argument("the case has no reference"));
                };
                let output = case.output.as_ref().and_then(Value::as_str).unwrap_or_default();
                Ok(Score::passed_if(output.contains(expected))
                    .with_reasoning(format!("looked for `{expected}` in `{output}`")))
            }),
    );

    let mut cases = Vec::new();
    for (country, city) in [("France", "Paris"), ("Japan", "Tokyo"), ("Peru", "Lima")] {
        let output = capital.run(country.to_owned()).await?;
        let case = EvalDataPoint::new(country).with_id(country).with_output(output);
        cases.push(case.with_reference(city));
    }
    // A case that cannot be judged does not stop the others.
    cases.push(EvalDataPoint::new("Atlantis").with_id("Atlantis").with_output("I do not know."));

    for result in ai.evaluate(&mentions, cases).batch_size(2).await? {
        if let Scores::One(score) = result.evaluation {
            let verdict = score.status.map(|status| format!("{status:?}")).unwrap_or_default();
            let reason = score.error.or(score.details.and_then(|details| details.reasoning));
            println!("{}: {verdict}, {}", result.test_case_id, reason.unwrap_or_default());
        }
    }
    Ok(())
}
