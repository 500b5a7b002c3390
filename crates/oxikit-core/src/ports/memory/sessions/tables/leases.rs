//! Leases: the right of one writer to change a session.
//!
//! Every lease has a fence, a number from a counter that only grows. A write is accepted only with
//! the fence of the newest lease. So a writer that paused too long and lost its lease to another
//! cannot overwrite the other's work, even though it does not know yet that it has lost. Time only
//! decides when a lease may be *taken over*; an expired lease that no other writer has taken stays
//! valid.

use tokio::time::Instant;

use super::{Tables, check_id, owned};
use crate::ports::{Lease, Owner, StoreError, Term};

/// The newest lease of a session.
pub(super) struct Held {
    fence: u64,
    until: Instant,
}

impl Held {
    /// Whether the lease has expired, so that another writer may take it.
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.until <= now
    }
}

impl Tables {
    /// Refuses a lease that is not the newest of its session.
    pub(in super::super) fn check_fence(
        &self,
        owner: &Owner,
        session: &str,
        lease: &Lease,
    ) -> Result<(), StoreError> {
        let held = self.owners.get(owner).and_then(|space| space.leases.get(session));
        match held {
            Some(held) if held.fence == lease.fence => Ok(()),
            _ => Err(StoreError::Fenced(session.to_owned())),
        }
    }

    pub(in super::super) fn lease(
        &mut self,
        owner: &Owner,
        session: &str,
        term: Term,
    ) -> Result<Lease, StoreError> {
        check_id(session)?;
        let now = Instant::now();
        if self.leases >= self.options.max_leases.max(self.sweep_at) {
            self.forget_leases(now);
        }
        let fence = self.clock + 1;
        let held = Held { fence, until: now + term.ttl };
        let space = owned(&mut self.owners, owner);
        match space.leases.get_mut(session) {
            Some(other) if !term.by_force && !other.is_free(now) => {
                return Err(StoreError::Conflict(session.to_owned()));
            }
            Some(other) => *other = held,
            None => {
                // Shares the text of the id with the session, if the session exists.
                let known = space.sessions.get_key_value(session).map(|(id, _)| id.clone());
                space.leases.insert(known.unwrap_or_else(|| session.into()), held);
                self.leases += 1;
            }
        }
        self.clock = fence;
        Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl })
    }

    /// Removes expired leases, which bounds their memory. Their holders are fenced although no other
    /// writer took over: stricter than necessary, but safe.
    fn forget_leases(&mut self, now: Instant) {
        self.owners.retain(|_, space| {
            space.leases.retain(|_, held| !held.is_free(now));
            !space.is_empty()
        });
        self.leases = self.owners.values().map(|space| space.leases.len()).sum();
        // If all leases are in use, a sweep at every new lease would cost quadratic time. The
        // next sweep waits until their number has doubled.
        self.sweep_at = 2 * self.leases;
    }

    pub(in super::super) fn renew(
        &mut self,
        owner: &Owner,
        lease: &Lease,
    ) -> Result<(), StoreError> {
        self.check_fence(owner, &lease.session, lease)?;
        let space = self.owners.get_mut(owner);
        if let Some(held) = space.and_then(|space| space.leases.get_mut(lease.session.as_str())) {
            held.until = Instant::now() + lease.ttl;
        }
        Ok(())
    }

    pub(in super::super) fn release(&mut self, owner: &Owner, lease: &Lease) {
        if self.check_fence(owner, &lease.session, lease).is_ok() {
            self.forget(owner, |space| space.leases.remove(lease.session.as_str()));
            self.leases -= 1;
        }
    }
}
