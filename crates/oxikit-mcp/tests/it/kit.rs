//! A client that writes the messages of the protocol itself.

use std::time::Duration;

use oxikit_mcp::McpServer;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

/// Maximum time to wait for a message, after which a test fails.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// The client's end of a connection with a server.
pub(crate) struct Client {
    input: Option<WriteHalf<DuplexStream>>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Client {
    /// A client that has sent nothing yet.
    pub(crate) fn uninitialized(server: McpServer) -> Self {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (far_input, far_output) = tokio::io::split(far);
        let server = tokio::spawn(server.serve(Box::new(far_input), Box::new(far_output)));
        let (output, input) = tokio::io::split(near);
        Self { input: Some(input), output: BufReader::new(output).lines(), server }
    }

    /// A client that has completed the handshake.
    pub(crate) async fn connect(server: McpServer) -> Self {
        let mut client = Self::uninitialized(server);
        client.send(&request(0, "initialize", &initialize_params())).await;
        client.receive().await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string()).await;
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        input.flush().await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(TIMEOUT, self.output.next_line()).await.unwrap();
        serde_json::from_str(&line.unwrap().unwrap()).unwrap()
    }

    /// Sends a request and returns its response.
    pub(crate) async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&request(id, method, &params)).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id);
        answer
    }

    /// Calls a tool. Returns the text of the result and whether it is an error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.ask(9, "tools/call", params).await;
        text_of(&answer)
    }

    /// Closes the input of the server.
    pub(crate) async fn close(&mut self) {
        self.input.take().unwrap().shutdown().await.unwrap();
    }

    /// Waits for the end of the server and returns its result.
    pub(crate) async fn ended(self) -> std::io::Result<()> {
        tokio::time::timeout(TIMEOUT, self.server).await.unwrap().unwrap()
    }
}

pub(crate) fn initialize_params() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

pub(crate) fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[track_caller]
pub(crate) fn text_of(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["isError"] == true)
}
