//! A client that writes and reads the frames itself, so that the tests see what is on the wire.

use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode as HttpStatus};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use oxikit_a2a_grpc::{
    Decode, Encode, header, path, read_details, read_message, split_frame, write_frame,
};
use oxikit_core::StatusCode;
use oxikit_wire::a2a::{A2aError, ErrorKind, Operation, StreamResponse, Version};
use tokio::net::TcpStream;

/// A client of one version.
#[derive(Clone)]
pub(super) struct Grpc {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    pub(super) version: Version,
    metadata: Vec<(String, String)>,
}

/// The status of a call that failed.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) code: StatusCode,
    pub(super) message: String,
    /// The error that the details name.
    pub(super) error: Option<A2aError>,
    /// Boxed, because it is large and most calls succeed.
    pub(super) metadata: Box<HeaderMap>,
}

impl Refused {
    pub(super) fn kind(&self) -> Option<ErrorKind> {
        self.error.as_ref().map(|error| error.kind)
    }
}

impl Grpc {
    pub(super) async fn connect(address: SocketAddr, version: Version) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, address, version, metadata: Vec::new() }
    }

    /// The same client, which sends this with every request.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.metadata.push((name.to_owned(), value.to_owned()));
        client
    }

    /// Sends a body to a path.
    pub(super) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Stream {
        let uri = format!("http://{}{path}", self.address);
        let mut request = Request::post(uri).body(Full::new(body.into())).unwrap();
        let headers = request.headers_mut();
        headers.insert("content-type", HeaderValue::from_static(header::MEDIA_TYPE));
        headers.insert("te", HeaderValue::from_static("trailers"));
        for (name, value) in &self.metadata {
            headers.insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        }
        let mut sender = self.sender.clone();
        sender.ready().await.unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        Stream {
            http: head.status,
            headers: head.headers,
            version: self.version,
            body,
            bytes: BytesMut::new(),
            trailers: None,
        }
    }

    pub(super) async fn stream(&self, operation: Operation, request: &dyn Encode) -> Stream {
        let mut body = Vec::new();
        write_frame(&mut body, request, self.version);
        self.post(&path(operation, self.version).unwrap(), body).await
    }

    /// Calls a method with one message as the answer.
    pub(super) async fn call<T: Decode>(
        &self,
        operation: Operation,
        request: &dyn Encode,
    ) -> Result<T, Refused> {
        let mut stream = self.stream(operation, request).await;
        let answer = stream.message().await;
        let end = stream.message().await;
        stream.result()?;
        assert!(end.is_none(), "one message is the answer");
        Ok(T::decode(self.version, &answer.unwrap()).unwrap())
    }
}

/// A response.
pub(super) struct Stream {
    pub(super) http: HttpStatus,
    pub(super) headers: HeaderMap,
    version: Version,
    body: Incoming,
    /// Read but not yet given out.
    bytes: BytesMut,
    trailers: Option<HeaderMap>,
}

impl Stream {
    /// The bytes of the next message; `None` at the end.
    pub(super) async fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(frame) = split_frame(&self.bytes).unwrap() {
                let message = frame.message.to_vec();
                let read = self.bytes.len() - frame.rest.len();
                drop(self.bytes.split_to(read));
                return Some(message);
            }
            match self.body.frame().await?.unwrap().into_data() {
                Ok(data) => self.bytes.extend_from_slice(&data),
                Err(frame) => self.trailers = frame.into_trailers().ok(),
            }
        }
    }

    pub(super) async fn next(&mut self) -> Option<StreamResponse> {
        let message = self.message().await?;
        Some(StreamResponse::decode(self.version, &message).unwrap())
    }

    /// All events until the end, which must be a good one.
    pub(super) async fn all(mut self) -> Vec<StreamResponse> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        self.result().unwrap();
        events
    }

    /// The status behind the messages, after the end.
    pub(super) fn result(&self) -> Result<(), Refused> {
        assert_eq!(self.http, 200);
        assert_eq!(self.headers["content-type"], header::MEDIA_TYPE);
        // A response without messages has its status among its headers.
        let trailers = self.trailers.as_ref().unwrap_or(&self.headers);
        let text = |name| trailers.get(name).map(|value| value.to_str().unwrap());
        let code = text(header::STATUS).expect("a status").parse().unwrap();
        let code = StatusCode::from_grpc(code).unwrap();
        if code == StatusCode::Ok {
            return Ok(());
        }
        Err(Refused {
            code,
            message: read_message(text(header::MESSAGE).unwrap_or_default()),
            error: text(header::DETAILS).and_then(read_details),
            metadata: Box::new(self.headers.clone()),
        })
    }

    /// The status of a response that must have no messages.
    pub(super) async fn refused(mut self) -> Refused {
        assert_eq!(self.message().await, None);
        self.result().unwrap_err()
    }
}
