//! A socket whose frames are written by hand: larger than any library would, or never
//! finished.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::tools::PATIENCE;

/// What is written at once.
const PIECE: usize = 64 << 10;
const FINAL: u8 = 0x80;
const TEXT: u8 = 0x01;
const CLOSE: u8 = 0x08;

/// A connection after its handshake.
pub(super) struct RawSocket {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
}

/// A frame of one letter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Whether the message begins with it.
    pub(super) is_first: bool,
    /// Whether the message ends with it.
    pub(super) is_last: bool,
    pub(super) bytes: usize,
}

impl RawSocket {
    pub(super) async fn dial(url: &str) -> Result<Self> {
        let request = url.into_client_request()?;
        let host = request.uri().authority().context("no address")?.as_str().to_owned();
        let stream = TcpStream::connect(host).await?;
        let (socket, _) = client_async(request, stream).await?;
        let (reader, writer) = socket.into_inner().into_split();
        Ok(Self { reader, writer })
    }

    /// Writes these parts, as far as they are taken, and waits for the close frame: its
    /// code and its reason.
    pub(super) async fn send_until_closed(self, parts: Vec<Part>) -> Result<(u16, String)> {
        let Self { mut reader, mut writer } = self;
        let write = async {
            for part in parts {
                // Who is sent away need not take the rest.
                if send(&mut writer, part).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            closed = timeout(PATIENCE, read_close(&mut reader)) => closed.context("it is not closed")?,
            () = write => bail!("it never ends"),
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

/// Reads frames, which are short, until one says that the socket is closed.
async fn read_close(reader: &mut OwnedReadHalf) -> Result<(u16, String)> {
    loop {
        let mut head = [0; 2];
        reader.read_exact(&mut head).await.context("closed without a word")?;
        let mut content = vec![0; usize::from(head[1])];
        reader.read_exact(&mut content).await?;
        if head[0] == FINAL | CLOSE {
            let (code, reason) = content.split_at_checked(2).context("closed without a code")?;
            let code = u16::from_be_bytes([code[0], code[1]]);
            return Ok((code, String::from_utf8_lossy(reason).into_owned()));
        }
    }
}
