//! Scripted runtimes with agents.

use serde_json::{Value, json};

use crate::manager::{ReceivedRequest, ScriptedRuntime, TRACE};

impl ScriptedRuntime {
    /// Answers `listActions` with the agents `kept` and `free`.
    pub async fn answer_agent_list(&mut self) {
        let agent = |name: &str, kept_by: &str| {
            json!({"name": name, "inputSchema": {"type": "object"},
                "metadata": {"agent": {"stateManagement": kept_by}, "bidi": true}})
        };
        let asked = self.expect_request("listActions").await;
        let actions = json!({"/agent/kept": agent("kept", "server"),
            "/agent/free": agent("free", "client"), "/flow/x": {"name": "x"}});
        self.answer(&asked, json!({"actions": actions})).await;
    }

    /// The next `runAction`, which must be for this action. Sends its trace id.
    pub async fn expect_run(&mut self, key: &str) -> ReceivedRequest {
        let asked = self.expect_request("runAction").await;
        assert_eq!(asked.params["key"], key);
        self.state(&asked, TRACE).await;
        asked
    }
}

impl ScriptedRuntime {
    /// Lists the agents and rejects the next request, as runtimes of other languages do.
    pub async fn reject_method(&mut self, method: &str) {
        self.answer_agent_list().await;
        let asked = self.expect_request(method).await;
        let message = format!("Method not found: {method}");
        self.fail(&asked, json!({"code": -32601, "message": message})).await;
    }

    /// Answers the next run with a snapshot. Returns the input of the run.
    pub async fn answer_snapshot(&mut self, snapshot: Value) -> Value {
        let mut asked = self.expect_run("/agent-snapshot/kept").await;
        self.answer(&asked, json!({"result": snapshot})).await;
        asked.params["input"].take()
    }
}
