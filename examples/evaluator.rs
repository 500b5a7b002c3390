//! Scores the output of a flow: runs it with a list of inputs, then evaluates the outputs.
//!
//! ```sh
//! cargo run --bin evaluator
//! ```
//!
//! The developer tools can use the same evaluator: they run flows and evaluators themselves
//! and store the scores.

use oxikit::prelude::*;
use oxikit::{EvalDataPoint, Evaluator, Score, Scores};

#[tokio::main]
async fn main() -> Result<()> {
    let ai = Oxikit::builder().build()?;

    // The flow to evaluate. It knows two capitals.
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
            .definition("Passes if the output contains the reference.")
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
    // A case without a reference cannot be scored. It does not stop the other cases.
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
