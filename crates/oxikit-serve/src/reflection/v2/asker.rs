//! Which manager asks: the one from before, which is owed the results of its runs, or
//! another, which must never get them: they would answer its own requests.
//!
//! Managers of oxikit say who they are when they answer `register`. Official ones do
//! not; they number their requests from 1, over all methods, and begin anew when they
//! are started again. So a first request of a connection that is not higher than what
//! was asked before comes from another manager, but only if all requests before were
//! such a count. An id that is merely repeated tells nothing.

use super::frames::RequestId;

/// The manager that asks, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Asker {
    who: Who,
    ids: Ids,
}

#[derive(Debug, Default, PartialEq)]
enum Who {
    /// Nobody has asked yet.
    #[default]
    Nobody,
    /// It says who it is.
    Named(Box<str>),
    /// It does not.
    Unnamed,
}

/// The ids of what was asked.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Ids {
    #[default]
    None,
    /// Each was higher than those before it; this is the last one.
    Counted(u64),
    /// Anything else.
    Uncounted,
}

impl Asker {
    /// The manager of a new connection has said who it is, or does not say it. Answers
    /// whether it is certainly another than before.
    pub(super) fn introduce(&mut self, name: Option<&str>) -> bool {
        let now = name.map_or(Who::Unnamed, |name| Who::Named(name.into()));
        let before = std::mem::replace(&mut self.who, now);
        let is_other = before != Who::Nobody && before != self.who;
        if is_other {
            self.ids = Ids::None;
        }
        is_other
    }

    /// Whether it says who it is: then its ids tell nothing more.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.who, Who::Named(_))
    }

    /// Something was asked, as the first request of a connection or a later one.
    /// Answers whether that tells of another manager than before.
    pub(super) fn asks(&mut self, id: &RequestId, is_first: bool) -> bool {
        if self.is_named() {
            return false;
        }
        // No official manager begins with 0.
        let number = id.number().filter(|number| *number > 0);
        let counts_anew = match (self.ids, number) {
            (Ids::Counted(last), Some(number)) => is_first && number <= last,
            _ => false,
        };
        self.ids = match (self.ids, number) {
            (Ids::None, Some(number)) => Ids::Counted(number),
            (Ids::Counted(last), Some(number)) if counts_anew || number > last => {
                Ids::Counted(number)
            }
            _ => Ids::Uncounted,
        };
        counts_anew
    }

    /// Another manager asks with this id: its count begins.
    pub(super) fn begin_with(&mut self, id: &RequestId) {
        self.ids = Ids::None;
        self.asks(id, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each connection is introduced as and asks; and for which of them another
    /// manager is seen.
    fn check(connections: &[(Option<&str>, &[&str])], expected: &[bool]) {
        let mut asker = Asker::default();
        let seen = connections.iter().map(|(name, ids)| {
            let mut is_other = asker.introduce(*name);
            for (place, id) in ids.iter().enumerate() {
                let id = RequestId::new(&format!("\"{id}\"")).unwrap();
                is_other |= asker.asks(&id, place == 0);
            }
            is_other
        });
        assert_eq!(seen.collect::<Vec<_>>(), expected, "{connections:?}");
    }

    #[test]
    fn a_manager_is_told_by_its_name_or_by_a_count_that_begins_anew() {
        let (a, b) = (Some("a"), Some("b"));
        // Names decide, whatever the ids are.
        check(&[(a, &["0"]), (a, &["0"]), (a, &["0", "7", "1"])], &[false; 3]);
        check(&[(a, &["5"]), (b, &["6"]), (a, &["7"])], &[false, true, true]);
        check(&[(a, &["5"]), (None, &["6"]), (b, &[])], &[false, true, true]);
        // Counts go on, or begin anew.
        check(&[(None, &["1", "2"]), (None, &["3"]), (None, &["9"])], &[false; 3]);
        check(&[(None, &["1", "2"]), (None, &["1"]), (None, &["2"])], &[false, true, false]);
        check(&[(None, &["1"]), (None, &[]), (None, &["1"])], &[false, false, true]);
        check(&[(None, &["4", "6"]), (None, &["5"])], &[false, true]);
        // What is no count tells nothing.
        check(&[(None, &["0"]), (None, &["0"])], &[false; 2]);
        check(&[(None, &["0", "1"]), (None, &["0"]), (None, &["1"])], &[false; 3]);
        check(&[(None, &["1", "uuid"]), (None, &["1"])], &[false; 2]);
        check(&[(None, &["1", "1"]), (None, &["1"])], &[false; 2]);
        check(
            &[(None, &["7", "340282366920938463463374607431768211455"]), (None, &["7"])],
            &[false, false],
        );
    }
}
