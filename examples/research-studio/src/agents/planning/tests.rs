use oxikit::client::a2a::OutgoingMessage;

use super::outline;
use crate::agents::testing::OneAgent;
use crate::records::{AgentName, Plan};

#[tokio::test]
async fn a_plan_is_data_that_can_be_carried_out() {
    let agent = OneAgent::start(AgentName::Planning).await;
    let answer = agent.send("Are home batteries worth their price?").await;
    let plan: Plan = answer.data("plan");
    plan.check().unwrap();
    assert_eq!(plan, Plan::standard("Are home batteries worth their price?"));
    assert_eq!(answer.reply.artifact("answer").unwrap().text(), outline(&plan));
}

#[tokio::test]
async fn an_unclear_question_is_asked_back_and_its_answer_belongs_to_it() {
    let agent = OneAgent::start(AgentName::Planning).await;
    let asked = agent.send("Batteries").await;
    let expected = "What exactly do you want to know about it?";
    assert_eq!(asked.question(), ("input-required".to_owned(), expected));
    let answer = agent.send(OutgoingMessage::new("price at home").follow(&asked.reply)).await;
    let plan: Plan = answer.data("plan");
    assert_eq!(plan.steps[0].task, "Batteries price at home");
}
