//! Queries over many sessions: pages of a list, and work that has stalled.

use std::cmp::Reverse;

use oxikit_core::ports::{SessionPage, SessionQuery, StalledWork, StoreError};

use super::files::Files;
use super::layout::Folder;
use super::record::Record;

impl Files {
    pub(super) fn list(
        &self,
        folder: &Folder,
        query: &SessionQuery,
    ) -> Result<SessionPage, StoreError> {
        let after = query.after.as_deref().map(read_token).transpose()?;
        let sessions = self.sessions(folder)?;
        let mut found: Vec<_> = sessions
            .iter()
            .map(|(session, record)| ((Reverse(record.written), session.as_str()), record))
            .filter(|(place, _)| after.is_none_or(|after| *place > after))
            .filter(|(_, record)| !record.rows.is_empty() && is_wanted(record, query))
            .collect();
        found.sort_unstable_by_key(|(place, _)| *place);
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        let next = found.last().filter(|_| has_more);
        let next = next.map(|((Reverse(written), session), _)| format!("{written}.{session}"));
        let found = found.iter();
        let sessions = found.filter_map(|((_, session), record)| record.summary(session)).collect();
        Ok(SessionPage { sessions, next })
    }

    pub(super) fn stalled(
        &self,
        agent: &str,
        limit: usize,
    ) -> Result<Vec<StalledWork>, StoreError> {
        let mut stalled = Vec::new();
        for (folder, owner) in self.folders()? {
            for (session, record) in self.sessions(&folder)?.iter() {
                let is_stalled = record.agent.as_deref() == Some(agent)
                    && record.rows.iter().any(|row| row.work.is_some())
                    && self.is_free(&folder.name, session, record);
                let work = record.rows.iter().filter(|_| is_stalled).filter_map(|row| {
                    Some(StalledWork {
                        owner: owner.clone(),
                        session: session.clone(),
                        snapshot: row.id.clone(),
                        work: row.work.clone()?,
                    })
                });
                stalled.extend(work.take(limit - stalled.len()));
                if stalled.len() >= limit {
                    return Ok(stalled);
                }
            }
        }
        Ok(stalled)
    }
}

fn is_wanted(record: &Record, query: &SessionQuery) -> bool {
    let agent = record.agent.as_deref();
    let is_active = || record.latest().is_some_and(|latest| latest.outline.is_active());
    query.agent.as_deref().is_none_or(|wanted| agent == Some(wanted))
        && query.is_active.is_none_or(|wanted| is_active() == wanted)
}

/// Parses a continuation token: the time and the id of the last session of a page. It is a
/// position and not a number of sessions, so sessions that are written between two pages do not
/// shift the list.
fn read_token(token: &str) -> Result<(Reverse<u64>, &str), StoreError> {
    let parts = token.split_once('.');
    let read = parts.and_then(|(written, session)| Some((Reverse(written.parse().ok()?), session)));
    read.ok_or(StoreError::Invalid("the continuation token"))
}
