//! The one that writes.
//!
//! It takes all that waits, does it in one transaction, and answers when the
//! transaction is on the disk: many callers share one wait for the disk. It has a thread of
//! its own, or is a task on the thread of its callers.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{CachedStatement, Connection};
use tokio::sync::{mpsc, oneshot};

use super::bells::Bells;
use super::failure::{Failure, Outcome};
use super::file_check::{Gone, OpenFile};

/// So many pieces of work wait at most; whoever has another one waits for a place.
const QUEUE: usize = 1024;
/// So many share a transaction.
const BATCH: usize = 256;

/// How much a piece of work promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// It is on the disk when it is answered.
    Durable,
    /// It outlives the process, and may be lost with the power. Enough for leases:
    /// whoever has one is gone then, too.
    UntilPowerCut,
}

/// The handle. The one that writes ends when the last one is gone and all is done.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
    patience: Duration,
}

/// What the one that writes needs besides its connection.
#[derive(Debug)]
pub(super) struct WriterOptions {
    pub(super) patience: Duration,
    pub(super) acknowledge_before_commit: bool,
    /// Whether work that fails is usual. Then what others have written in the same
    /// transaction is guarded against it, at the price of a copy of every page that they
    /// change; else they are done again.
    pub(super) expects_failures: bool,
}

impl Writer {
    /// Starts a thread that writes.
    pub(super) fn start(
        connection: Connection,
        file: OpenFile,
        bells: Arc<Bells>,
        options: WriterOptions,
    ) -> std::io::Result<Self> {
        let (writer, work) = Self::new(connection, file, bells, options);
        work.start_thread()?;
        Ok(writer)
    }

    /// A writer, and its work, which somebody has to run.
    pub(super) fn new(
        connection: Connection,
        file: OpenFile,
        bells: Arc<Bells>,
        options: WriterOptions,
    ) -> (Self, WriterWork) {
        let (queue, inbox) = mpsc::channel(QUEUE);
        let patience = options.patience;
        let execution = Execution { connection, file, bells, options, is_full: true };
        (Self { queue, patience }, WriterWork { execution, inbox })
    }

    /// Does the work inside of a transaction. It may be done twice, if the first
    /// transaction is lost; of one that fails nothing is kept.
    pub(super) async fn run<T, F>(&self, promise: Promise, work: F) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run_then(promise, work, |_| ()).await
    }

    /// The same, and `then` hears what has come of it, on the thread of the writer:
    /// of all that is written in the order of the writing.
    pub(super) async fn run_then<T, F, N>(&self, promise: Promise, work: F, then: N) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
        N: FnOnce(&T) + Send + 'static,
    {
        let (answer, result) = oneshot::channel();
        let task = Task { promise, work, then, result: None, answer, is_awaited: true };
        let answered = async {
            self.queue.send(Box::new(task)).await.map_err(|_| Failure::Silent)?;
            result.await.unwrap_or(Err(Failure::Silent))
        };
        tokio::time::timeout(self.patience, answered).await.unwrap_or(Err(Failure::Silent))
    }

    /// Leaves work for later that nobody waits for; `false` if there is no room.
    pub(super) fn leave<F>(&self, promise: Promise, work: F) -> bool
    where
        F: FnMut(&Txn<'_>) -> Outcome<()> + Send + 'static,
    {
        let (answer, _) = oneshot::channel();
        let then = |_: &()| ();
        let task = Task { promise, work, then, result: None, answer, is_awaited: false };
        self.queue.try_send(Box::new(task)).is_ok()
    }
}

/// A transaction.
#[derive(Debug)]
pub(super) struct Txn<'a> {
    connection: &'a Connection,
    /// The last number that was given; read when the first is wanted.
    clock: Cell<Option<i64>>,
    /// What to ring when all is done.
    rings: RefCell<Vec<String>>,
}

impl<'a> Txn<'a> {
    /// The transaction that was begun on this connection.
    pub(super) fn of(connection: &'a Connection) -> Self {
        Self { connection, clock: Cell::new(None), rings: RefCell::default() }
    }
}

impl Txn<'_> {
    pub(super) fn sql(&self, sql: &str) -> Outcome<CachedStatement<'_>> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    pub(super) fn connection(&self) -> &Connection {
        self.connection
    }

    /// A number greater than all before.
    pub(super) fn next(&self) -> Outcome<i64> {
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

    /// Tells those who wait for this id, once it is true.
    pub(super) fn ring(&self, id: &str) {
        self.rings.borrow_mut().push(id.to_owned());
    }

    fn store_clock(&self) -> Outcome<()> {
        if let Some(last) = self.clock.get() {
            self.sql("UPDATE leases SET fence = ?1 WHERE owner = '' AND session = ''")?
                .execute([last])?;
        }
        Ok(())
    }
}

/// A piece of work, whatever its answer is.
trait Job: Send {
    fn promise(&self) -> Promise;
    /// Whether the caller has been told that it failed, or is gone.
    fn is_abandoned(&self) -> bool;
    /// Says whether it succeeded.
    fn execute(&mut self, txn: &Txn<'_>) -> bool;
    /// Tells the caller; with a failure if nothing was kept.
    fn answer(self: Box<Self>, lost: Option<Failure>);
}

struct Task<T, F, N> {
    promise: Promise,
    work: F,
    then: N,
    result: Option<Outcome<T>>,
    answer: oneshot::Sender<Outcome<T>>,
    is_awaited: bool,
}

impl<T, F, N> Job for Task<T, F, N>
where
    T: Send,
    F: FnMut(&Txn<'_>) -> Outcome<T> + Send,
    N: FnOnce(&T) + Send,
{
    fn promise(&self) -> Promise {
        self.promise
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
        // What the work holds is free before the caller goes on.
        drop(work);
        let result = match (lost, result) {
            (Some(failure), Some(Ok(_)) | None) => Err(failure),
            (_, Some(result)) => result,
            (None, None) => Err(Failure::Silent),
        };
        if let Ok(result) = &result {
            then(result);
        }
        // The caller may have left.
        _ = answer.send(result);
    }
}

/// What a writer does, until the last handle of it is gone.
pub(super) struct WriterWork {
    execution: Execution,
    inbox: mpsc::Receiver<Box<dyn Job>>,
}

impl WriterWork {
    /// Starts a thread that does it.
    pub(super) fn start_thread(mut self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("oxikit-sqlite-writer".to_owned());
        thread.spawn(move || {
            let mut jobs = Vec::with_capacity(BATCH);
            while self.inbox.blocking_recv_many(&mut jobs, BATCH) > 0 {
                self.execution.settle_or_report(std::mem::take(&mut jobs));
            }
        })?;
        Ok(())
    }

    /// Blocks the thread for each transaction.
    pub(super) async fn run(mut self) {
        let mut jobs = Vec::with_capacity(BATCH);
        while self.inbox.recv_many(&mut jobs, BATCH).await > 0 {
            self.execution.settle_or_report(std::mem::take(&mut jobs));
        }
    }
}

struct Execution {
    connection: Connection,
    file: OpenFile,
    bells: Arc<Bells>,
    options: WriterOptions,
    /// Whether a commit waits for the disk.
    is_full: bool,
}

impl Execution {
    fn settle_or_report(&mut self, jobs: Vec<Box<dyn Job>>) {
        let work = std::panic::AssertUnwindSafe(|| self.settle(jobs));
        if std::panic::catch_unwind(work).is_err() {
            // Those who wait hear of it by the end of their channel.
            tracing::error!("a write to the SQLite store panicked; please report this");
        }
    }

    /// Does all of them together, or each alone if that fails.
    fn settle(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if self.options.acknowledge_before_commit {
            return self.settle_too_early(jobs);
        }
        // While the file was locked, their callers have given up.
        jobs.retain(|job| !job.is_abandoned());
        if jobs.is_empty() {
            return;
        }
        match self.transact(&mut jobs) {
            Ok(rings) => {
                rings.iter().for_each(|id| self.bells.ring(id));
                jobs.into_iter().for_each(|job| job.answer(None));
            }
            Err(failure) if jobs.len() == 1 || matches!(failure, Failure::Gone) => {
                jobs.into_iter().for_each(|job| job.answer(Some(failure.clone())));
            }
            Err(_) => jobs.into_iter().for_each(|job| self.settle(vec![job])),
        }
    }

    /// The planted fault that a crash test must find.
    fn settle_too_early(&mut self, jobs: Vec<Box<dyn Job>>) {
        for mut job in jobs {
            let begun = self.begin(std::slice::from_ref(&job));
            let txn = self.txn();
            let is_done = begun.is_ok() && job.execute(&txn);
            let stored = txn.store_clock();
            let rings = txn.rings.take();
            job.answer(begun.err());
            std::thread::sleep(Duration::from_millis(20));
            let end = if is_done && stored.is_ok() { "COMMIT" } else { "ROLLBACK" };
            _ = self.connection.execute_batch(end);
            rings.iter().for_each(|id| self.bells.ring(id));
        }
    }

    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Outcome<Vec<String>> {
        // It may be back; if not, there is no use in writing.
        if self.file.was_gone() {
            self.check_file()?;
        }
        let rings = self.write(jobs)?;
        self.check_file()?;
        Ok(rings)
    }

    /// What was written into a file that nobody can open any more is not stored.
    fn check_file(&mut self) -> Outcome<()> {
        let Some(gone) = self.file.find_gone() else { return Ok(()) };
        if gone == Gone::Log {
            // All that was acknowledged is moved into the database, which is still there.
            _ = self.connection.execute_batch("PRAGMA wal_checkpoint(FULL)");
        }
        Err(Failure::Gone)
    }

    fn write(&mut self, jobs: &mut [Box<dyn Job>]) -> Outcome<Vec<String>> {
        self.begin(jobs)?;
        let txn = self.txn();
        let done = execute(&txn, jobs, self.options.expects_failures).and_then(|any| match any {
            true => {
                txn.store_clock()?;
                txn.sql("COMMIT")?.execute([])?;
                Ok(txn.rings.take())
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

    fn begin(&mut self, jobs: &[Box<dyn Job>]) -> Outcome<()> {
        if !self.connection.is_autocommit() {
            // A panic has left it.
            self.connection.execute_batch("ROLLBACK")?;
        }
        let is_full = jobs.iter().any(|job| job.promise() == Promise::Durable);
        if is_full != self.is_full {
            let synchronous = if is_full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.is_full = is_full;
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(())
    }

    fn txn(&self) -> Txn<'_> {
        Txn::of(&self.connection)
    }
}

/// Some failures, a full disk among them, end the whole transaction at once. The
/// job that met it has the reason as its own result.
const LOST: Failure = Failure::Silent;

/// Executes each so that a failed one leaves nothing behind. Says whether there is
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
        let rings = txn.rings.borrow().len();
        let is_done = job.execute(txn);
        if txn.connection.is_autocommit() {
            return Err(LOST);
        }
        if !is_done {
            txn.sql("ROLLBACK TO job")?.execute([])?;
            txn.rings.borrow_mut().truncate(rings);
        }
        txn.sql("RELEASE job")?.execute([])?;
        any |= is_done;
    }
    Ok(any)
}
