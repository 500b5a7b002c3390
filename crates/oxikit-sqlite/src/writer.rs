//! The single writer of a file, with grouped commits.
//!
//! A commit waits for the disk, which takes much longer than the statements of a small
//! write. The writer therefore takes all jobs that wait in its queue, up to 256, and
//! executes them in one transaction; callers are answered after the commit. While one
//! commit waits for the disk the next jobs gather in the queue, so groups grow with the load
//! and a lone job is not delayed.
//!
//! Jobs of a group must not affect each other. A failed job is undone in one of two ways,
//! chosen by [`WriterOptions::expects_failures`]: by a savepoint around each job, or by
//! rolling back the whole transaction and executing every job in its own. A job can thus be
//! executed twice, and reads its input again the second time.
//!
//! The writer has a thread of its own ([`Writer::start`]) or is a task that its owner polls
//! ([`WriterWork::run`]). It does not read for callers; see [`Readers`](crate::Readers).

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{Notifier, Topic};
use rusqlite::{CachedStatement, Connection};
use tokio::sync::{mpsc, oneshot};

use super::failure::{Failure, Outcome};
use super::file_check::{MissingFile, OpenFile};

/// Maximum number of queued jobs. A caller with a further job waits for a place, up to its
/// timeout.
const QUEUE: usize = 1024;
/// Maximum number of jobs in a transaction. Further jobs wait for the next transaction.
const BATCH: usize = 256;

/// The kind of crash that a committed job survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The job is synced to the disk before the caller is answered: it survives a power cut.
    Synced,
    /// The job survives a crash of the process, and may be lost in a power cut. This is
    /// enough for leases, whose holders end with the same power cut.
    Unsynced,
}

/// A handle of the writer. The writer ends after the last handle is dropped and the queue is
/// empty.
#[derive(Debug, Clone)]
pub struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
    timeout: Duration,
}

/// Options of a writer.
#[derive(Debug)]
pub struct WriterOptions {
    /// Time that a caller waits for its answer. The call then fails with
    /// [`Failure::Timeout`], and a job that was not begun is skipped.
    pub timeout: Duration,
    /// Whether failing jobs are usual. If so, each job of a group gets a savepoint, which
    /// copies every page that the job changes. If not, one failing job makes the writer roll
    /// back the group and execute each of its jobs in a transaction of its own.
    pub expects_failures: bool,
}

impl Writer {
    /// Starts a writer on a thread of its own.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(
        connection: Connection,
        file: OpenFile,
        notifier: Arc<dyn Notifier>,
        options: WriterOptions,
    ) -> std::io::Result<Self> {
        let (writer, work) = Self::new(connection, file, notifier, options);
        work.start_thread()?;
        Ok(writer)
    }

    /// A writer, and its work, which the caller has to run.
    pub fn new(
        connection: Connection,
        file: OpenFile,
        notifier: Arc<dyn Notifier>,
        options: WriterOptions,
    ) -> (Self, WriterWork) {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let timeout = options.timeout;
        let execution = Execution { connection, file, notifier, options, is_full: true };
        (Self { queue, timeout }, WriterWork { execution, inbox })
    }

    /// Executes `work` in a transaction, which it may share with other jobs. `work` is
    /// called a second time if the first transaction is rolled back because of another job.
    /// Nothing that a failing `work` wrote is kept.
    ///
    /// # Errors
    /// The failure of `work` or of the commit; [`Failure::Timeout`] if the writer did not
    /// answer in time, in which case the work may still be committed.
    pub async fn run<T, F>(&self, durability: Durability, work: F) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run_then(durability, work, |_| ()).await
    }

    /// Like [`run`](Self::run), and calls `then` with the result after the commit. All
    /// `then` are called on the thread of the writer, in the order in which the jobs were
    /// executed.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_then<T, F, N>(&self, durability: Durability, work: F, then: N) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
        N: FnOnce(&T) + Send + 'static,
    {
        let (answer, result) = oneshot::channel();
        let task = Task { durability, work, then, result: None, answer, is_awaited: true };
        let answered = async {
            self.queue.send(Box::new(task)).await.map_err(|_| Failure::Timeout)?;
            result.await.unwrap_or(Err(Failure::Timeout))
        };
        tokio::time::timeout(self.timeout, answered).await.unwrap_or(Err(Failure::Timeout))
    }

    /// Queues work whose result no caller needs. Returns `false` if the queue is full; the
    /// work is then dropped.
    pub fn enqueue<F>(&self, durability: Durability, work: F) -> bool
    where
        F: FnMut(&Txn<'_>) -> Outcome<()> + Send + 'static,
    {
        let (answer, _) = oneshot::channel();
        let then = |_: &()| ();
        let task = Task { durability, work, then, result: None, answer, is_awaited: false };
        self.queue.try_send(Box::new(task)).is_ok()
    }
}

/// The open transaction, as a job sees it.
#[derive(Debug)]
pub struct Txn<'a> {
    connection: &'a Connection,
    /// The last number that was given out; read from the table on the first use.
    clock: Cell<Option<i64>>,
    /// Published after the commit.
    topics: RefCell<Vec<Topic>>,
}

impl<'a> Txn<'a> {
    /// Wraps the transaction that was begun on this connection.
    pub fn of(connection: &'a Connection) -> Self {
        Self { connection, clock: Cell::new(None), topics: RefCell::default() }
    }
}

impl Txn<'_> {
    /// Prepares a statement, or takes it from the cache of the connection.
    ///
    /// # Errors
    /// If SQLite rejects the statement.
    pub fn sql(&self, sql: &str) -> Outcome<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// The connection that the transaction was begun on.
    pub fn connection(&self) -> &Connection {
        self.connection
    }

    /// The next number of the file: greater than all that it gave out before. The counter
    /// is stored in a row of the `leases` table, once per transaction.
    ///
    /// # Errors
    /// If the counter cannot be read.
    pub fn next(&self) -> Outcome<i64> {
        let last = match self.clock.get() {
            Some(last) => last,
            None => {
                let sql = "SELECT fence FROM leases WHERE owner = '' AND session = ''";
                self.sql(sql)?.query_row([], |row| row.get(0))?
            }
        };
        self.clock.set(Some(last + 1));
        Ok(last + 1)
    }

    /// Publishes the topic once the transaction is committed.
    pub fn publish(&self, topic: Topic) {
        self.topics.borrow_mut().push(topic);
    }

    fn store_clock(&self) -> Outcome<()> {
        if let Some(last) = self.clock.get() {
            self.sql("UPDATE leases SET fence = ?1 WHERE owner = '' AND session = ''")?
                .execute([last])?;
        }
        Ok(())
    }
}

/// A queued piece of work, whatever the type of its result is.
trait Job: Send {
    fn durability(&self) -> Durability;
    /// Whether the caller stopped waiting: it timed out, or its future was dropped.
    fn is_abandoned(&self) -> bool;
    /// Executes the work and keeps its result. Returns whether it succeeded.
    fn execute(&mut self, txn: &Txn<'_>) -> bool;
    /// Sends the result to the caller. `lost` is the reason why the transaction was not
    /// committed.
    fn answer(self: Box<Self>, lost: Option<Failure>);
}

/// A job with the types of its work and its result.
struct Task<T, F, N> {
    durability: Durability,
    work: F,
    /// Called with the result after the commit, before the caller is answered.
    then: N,
    result: Option<Outcome<T>>,
    answer: oneshot::Sender<Outcome<T>>,
    /// Whether a caller waits for the answer. A job that was only enqueued is executed in any
    /// case.
    is_awaited: bool,
}

impl<T, F, N> Job for Task<T, F, N>
where
    T: Send,
    F: FnMut(&Txn<'_>) -> Outcome<T> + Send,
    N: FnOnce(&T) + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn is_abandoned(&self) -> bool {
        self.is_awaited && self.answer.is_closed()
    }

    fn execute(&mut self, txn: &Txn<'_>) -> bool {
        let result = (self.work)(txn);
        let is_done = result.is_ok();
        self.result = Some(result);
        is_done
    }

    fn answer(self: Box<Self>, lost: Option<Failure>) {
        let Self { work, then, result, answer, .. } = *self;
        // Releases locks and permits that the work owns before the caller continues.
        drop(work);
        let result = match (lost, result) {
            (Some(failure), Some(Ok(_)) | None) => Err(failure),
            (_, Some(result)) => result,
            (None, None) => Err(Failure::Timeout),
        };
        if let Ok(result) = &result {
            then(result);
        }
        // The caller may have stopped waiting.
        _ = answer.send(result);
    }
}

/// The loop of a writer, which ends after its last handle is dropped.
#[derive(Debug)]
pub struct WriterWork {
    execution: Execution,
    inbox: mpsc::Receiver<Box<dyn Job>>,
}

impl WriterWork {
    /// Runs the loop on a new thread.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start_thread(mut self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("oxikit-sqlite-writer".to_owned());
        thread.spawn(move || {
            let mut jobs = Vec::with_capacity(BATCH);
            while self.inbox.blocking_recv_many(&mut jobs, BATCH) > 0 {
                self.execution.settle_or_report(std::mem::take(&mut jobs));
            }
        })?;
        Ok(())
    }

    /// Runs the loop as a task. Each transaction blocks the thread that polls it.
    pub async fn run(mut self) {
        let mut jobs = Vec::with_capacity(BATCH);
        while self.inbox.recv_many(&mut jobs, BATCH).await > 0 {
            self.execution.settle_or_report(std::mem::take(&mut jobs));
        }
    }
}

/// The connection that writes, and what it needs to execute jobs.
#[derive(Debug)]
struct Execution {
    connection: Connection,
    file: OpenFile,
    notifier: Arc<dyn Notifier>,
    options: WriterOptions,
    /// Whether the connection syncs every commit: the current value of `synchronous`.
    is_full: bool,
}

impl Execution {
    /// Executes a group. A panic of a job must not end the writer: the jobs of its group fail,
    /// and the next group is executed.
    fn settle_or_report(&mut self, jobs: Vec<Box<dyn Job>>) {
        let work = std::panic::AssertUnwindSafe(|| self.settle(jobs));
        if std::panic::catch_unwind(work).is_err() {
            // The jobs were dropped with their channels: their callers get `Timeout`.
            tracing::error!("a write to the SQLite store panicked; please report this");
        }
    }

    /// Executes a group in one transaction, or each job in its own if that one fails, so
    /// that every caller gets the result of its own job. The topics are published before the
    /// callers are answered, and both only after the commit.
    fn settle(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        // Their callers received a timeout, for example while another process had
        // locked the file: executing them now would surprise the callers.
        jobs.retain(|job| !job.is_abandoned());
        if jobs.is_empty() {
            return;
        }
        match self.transact(&mut jobs) {
            Ok(topics) => {
                topics.into_iter().for_each(|topic| self.notifier.publish(topic));
                jobs.into_iter().for_each(|job| job.answer(None));
            }
            Err(failure) if jobs.len() == 1 || matches!(failure, Failure::FileDeleted) => {
                jobs.into_iter().for_each(|job| job.answer(Some(failure.clone())));
            }
            Err(_) => jobs.into_iter().for_each(|job| self.settle(vec![job])),
        }
    }

    /// Executes a group in one transaction. Returns the topics to publish.
    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Outcome<Vec<Topic>> {
        // The file may have been put back. If not, a write would be lost.
        if self.file.was_missing() {
            self.check_file()?;
        }
        let topics = self.write(jobs)?;
        self.check_file()?;
        Ok(topics)
    }

    /// Fails if the file was deleted: a commit into it is not acknowledged, since no process
    /// can open the file again.
    fn check_file(&mut self) -> Outcome<()> {
        let Some(missing) = self.file.find_missing() else { return Ok(()) };
        if missing == MissingFile::Log {
            // The database is still at its path. The checkpoint moves all acknowledged
            // commits from the deleted log into it.
            _ = self.connection.execute_batch("PRAGMA wal_checkpoint(FULL)");
        }
        Err(Failure::FileDeleted)
    }

    /// Begins, executes and commits. If every job has failed, there is nothing to commit.
    fn write(&mut self, jobs: &mut [Box<dyn Job>]) -> Outcome<Vec<Topic>> {
        self.begin(jobs)?;
        let txn = self.txn();
        let done = execute(&txn, jobs, self.options.expects_failures).and_then(|any| match any {
            true => {
                txn.store_clock()?;
                txn.sql("COMMIT")?.execute([])?;
                Ok(txn.topics.take())
            }
            false => {
                txn.sql("ROLLBACK")?.execute([])?;
                Ok(Vec::new())
            }
        });
        if done.is_err() && !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// Begins a transaction that is as durable as the most durable job needs.
    fn begin(&mut self, jobs: &[Box<dyn Job>]) -> Outcome<()> {
        if !self.connection.is_autocommit() {
            // A job that panicked has left its transaction open.
            self.connection.execute_batch("ROLLBACK")?;
        }
        // One durable job makes the whole group durable.
        let is_full = jobs.iter().any(|job| job.durability() == Durability::Synced);
        if is_full != self.is_full {
            let synchronous = if is_full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.is_full = is_full;
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(())
    }

    /// The handle that jobs receive.
    fn txn(&self) -> Txn<'_> {
        Txn::of(&self.connection)
    }
}

/// The failure of a group whose transaction is lost. SQLite itself rolls back the whole
/// transaction on some errors, such as a full disk; `is_autocommit` then tells. The job that
/// caused it has the reason as its own result.
const LOST: Failure = Failure::Timeout;

/// Executes the jobs so that a failed one leaves no changes. Returns whether there is
/// anything to commit.
fn execute(txn: &Txn<'_>, jobs: &mut [Box<dyn Job>], expects_failures: bool) -> Outcome<bool> {
    if let [job] = jobs {
        let is_done = job.execute(txn);
        return if txn.connection.is_autocommit() { Err(LOST) } else { Ok(is_done) };
    }
    if !expects_failures {
        return if jobs.iter_mut().all(|job| job.execute(txn)) { Ok(true) } else { Err(LOST) };
    }
    let mut any = false;
    for job in jobs {
        txn.sql("SAVEPOINT job")?.execute([])?;
        let topics = txn.topics.borrow().len();
        let is_done = job.execute(txn);
        if txn.connection.is_autocommit() {
            return Err(LOST);
        }
        if !is_done {
            txn.sql("ROLLBACK TO job")?.execute([])?;
            txn.topics.borrow_mut().truncate(topics);
        }
        txn.sql("RELEASE job")?.execute([])?;
        any |= is_done;
    }
    Ok(any)
}
