//! Who may write.

use tokio::time::Instant;

use super::{Tables, check_id, owned};
use crate::ports::{Lease, Owner, StoreError, Term};

/// A lease that somebody has.
pub(super) struct Held {
    fence: u64,
    until: Instant,
}

impl Held {
    /// Whether it has run out.
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.until <= now
    }
}

impl Tables {
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
                let known = space.sessions.get_key_value(session).map(|(id, _)| id.clone());
                space.leases.insert(known.unwrap_or_else(|| session.into()), held);
                self.leases += 1;
            }
        }
        self.clock = fence;
        Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl })
    }

    /// Whoever had one of them is fenced: too much, but safe.
    fn forget_leases(&mut self, now: Instant) {
        self.owners.retain(|_, space| {
            space.leases.retain(|_, held| !held.is_free(now));
            !space.is_empty()
        });
        self.leases = self.owners.values().map(|space| space.leases.len()).sum();
        // All of them may be in use: then the next look is a while off.
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
