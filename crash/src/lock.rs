//! A process that holds an exclusive lock on the file of a SQLite store.

use anyhow::Result;
use rusqlite::Connection;

use crate::Args;

/// Locks the file and prints `locked`. Unlocks it when it reads a line or the end of standard
/// input.
pub(crate) fn run(args: &Args) -> Result<()> {
    let connection = Connection::open(args.get("--store")?)?;
    connection.busy_timeout(std::time::Duration::from_secs(60))?;
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    println!("locked");
    std::io::stdin().read_line(&mut String::new())?;
    connection.execute_batch("ROLLBACK")?;
    println!("free");
    Ok(())
}
