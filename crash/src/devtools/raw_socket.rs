//! A WebSocket connection whose frames are written byte by byte, because no library sends frames
//! that are too large or messages that never end.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::tools::PATIENCE;

/// Number of bytes that are written at once.
const PIECE: usize = 64 << 10;
const FINAL: u8 = 0x80;
const TEXT: u8 = 0x01;
const CLOSE: u8 = 0x08;

/// A connection after its handshake.
pub(super) struct RawSocket {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
}

/// A frame that repeats one letter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Whether the message begins with it.
    pub(super) is_first: bool,
    /// Whether the message ends with it.
    pub(super) is_last: bool,
    pub(super) bytes: usize,
}

impl RawSocket {
    /// Connects and completes the handshake.
    pub(super) async fn connect(url: &str) -> Result<Self> {
        let request = url.into_client_request()?;
        let host = request.uri().authority().context("no address")?.as_str().to_owned();
        let stream = TcpStream::connect(host).await?;
        let (socket, _) = client_async(request, stream).await?;
        let (reader, writer) = socket.into_inner().into_split();
        Ok(Self { reader, writer })
    }

    /// Writes these parts until the server stops reading, and waits for the close frame. Returns
    /// its code and its reason.
    pub(super) async fn send_until_closed(self, parts: Vec<Part>) -> Result<(u16, String)> {
        let Self { mut reader, mut writer } = self;
        let write = async {
            for part in parts {
                // A server that rejects the request need not read the rest of it.
                if send(&mut writer, part).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            closed = timeout(PATIENCE, read_close(&mut reader)) => closed.context("the connection was not closed")?,
            () = write => bail!("the writer ended"),
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, part: Part) -> Result<()> {
    let first = if part.is_last { FINAL } else { 0 } | if part.is_first { TEXT } else { 0 };
    let mut head = vec![first, 0x80 | 127];
    head.extend((part.bytes as u64).to_be_bytes());
    // A mask of zeros leaves the bytes as they are.
    head.extend([0; 4]);
    writer.write_all(&head).await?;
    let piece = vec![b'x'; PIECE.min(part.bytes)];
    let mut left = part.bytes;
    while left > 0 {
        let count = left.min(piece.len());
        writer.write_all(&piece[..count]).await?;
        left -= count;
    }
    Ok(())
}

/// Reads frames, which must be short, up to the close frame.
async fn read_close(reader: &mut OwnedReadHalf) -> Result<(u16, String)> {
    loop {
        let mut head = [0; 2];
        reader.read_exact(&mut head).await.context("closed without a close frame")?;
        let mut content = vec![0; usize::from(head[1])];
        reader.read_exact(&mut content).await?;
        if head[0] == FINAL | CLOSE {
            let (code, reason) = content.split_at_checked(2).context("closed without a code")?;
            let code = u16::from_be_bytes([code[0], code[1]]);
            return Ok((code, String::from_utf8_lossy(reason).into_owned()));
        }
    }
}
