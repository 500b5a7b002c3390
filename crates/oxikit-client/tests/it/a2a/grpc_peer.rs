//! A scripted server that writes the frames of HTTP/2 itself, so that it can also leave some out.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The bytes with which a client opens a connection.
const PREFACE: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// A piece of an answer.
#[derive(Clone)]
pub(crate) enum Piece {
    Headers(Vec<(&'static str, &'static str)>),
    Data(Vec<u8>),
    /// The last headers of the answer.
    Trailers(Vec<(&'static str, &'static str)>),
    /// Ends the answer without trailers.
    End,
    /// Closes the connection.
    Cut,
}

/// The head of an answer with messages.
pub(crate) fn head() -> Piece {
    Piece::Headers(vec![(":status", "200"), ("content-type", "application/grpc")])
}

/// Answers each request with the next of these, on any connection.
pub(crate) async fn grpc_peer(answers: Vec<Vec<Piece>>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        while let Ok((stream, _)) = listener.accept().await {
            // A connection ends when the client or the script closes it.
            drop(serve(stream, &mut answers).await);
        }
    });
    address
}

async fn serve(
    mut stream: TcpStream,
    answers: &mut impl Iterator<Item = Vec<Piece>>,
) -> std::io::Result<()> {
    stream.read_exact(&mut [0; PREFACE]).await?;
    write(&mut stream, SETTINGS, 0, 0, &[]).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut body = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        stream.read_exact(&mut body).await?;
        if kind == SETTINGS && flags & ACK == 0 {
            write(&mut stream, SETTINGS, ACK, 0, &[]).await?;
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            let Some(answer) = answers.next() else { return Ok(()) };
            for piece in answer {
                if !send(&mut stream, u32::from_be_bytes(id), piece).await? {
                    return Ok(());
                }
            }
        }
    }
}

/// Sends a piece. Returns whether the connection stays open.
async fn send(stream: &mut TcpStream, id: u32, piece: Piece) -> std::io::Result<bool> {
    match piece {
        Piece::Headers(pairs) => write(stream, HEADERS, END_HEADERS, id, &block(&pairs)).await?,
        Piece::Trailers(pairs) => {
            write(stream, HEADERS, END_HEADERS | END_STREAM, id, &block(&pairs)).await?;
        }
        Piece::Data(data) => write(stream, DATA, 0, id, &data).await?,
        Piece::End => write(stream, DATA, END_STREAM, id, &[]).await?,
        Piece::Cut => return Ok(false),
    }
    Ok(true)
}

async fn write(
    stream: &mut TcpStream,
    kind: u8,
    flags: u8,
    id: u32,
    body: &[u8],
) -> std::io::Result<()> {
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(id.to_be_bytes());
    frame.extend(body);
    stream.write_all(&frame).await
}

/// Headers as literals that are not indexed.
fn block(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in pairs {
        block.push(0);
        for text in [name, value] {
            let length = u8::try_from(text.len()).unwrap();
            assert!(length < 127, "longer texts have another form");
            block.push(length);
            block.extend(text.as_bytes());
        }
    }
    block
}
