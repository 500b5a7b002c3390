//! Decides after a reconnect whether the manager is the same as before.
//!
//! The same manager still waits for the results of its runs. Another one, such as a restarted
//! manager, must never receive them: it may have used the same request ids for other requests.
//!
//! - Managers of oxikit send a `managerId` in the response to `register`. Equal ids mean the
//!   same manager.
//! - Official managers send none. They number their requests from 1, over all methods, and
//!   start again at 1 when they are restarted. If all requests so far had increasing numbers,
//!   a first request of a new connection with a number that is not higher comes from another
//!   manager. If the ids were anything else, a repeated id proves nothing.

use super::frames::RequestId;

/// The known facts about the manager of the current epoch.
#[derive(Debug, Default)]
pub(super) struct ManagerIdentity {
    manager: Manager,
    ids: RequestIds,
}

/// The way in which the manager identifies itself.
#[derive(Debug, Default, PartialEq)]
enum Manager {
    /// No manager has registered this runtime or sent a request.
    #[default]
    None,
    /// A manager with this `managerId`.
    Named(Box<str>),
    /// A manager that sends no `managerId`.
    Unnamed,
}

/// The ids of the requests of a manager without `managerId`.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum RequestIds {
    #[default]
    None,
    /// Each was higher than the one before. Holds the last one.
    Increasing(u64),
    /// Anything else. It stays so, because one such id makes all conclusions unsafe.
    Other,
}

impl ManagerIdentity {
    /// Records the `managerId` of a new connection, if there is one. Returns whether the manager
    /// is certainly another one than before.
    pub(super) fn registered(&mut self, name: Option<&str>) -> bool {
        let now = name.map_or(Manager::Unnamed, |name| Manager::Named(name.into()));
        // A manager without an id may be the same as before: only its requests can show it.
        let before = std::mem::replace(&mut self.manager, now);
        let is_other = before != Manager::None && before != self.manager;
        if is_other {
            self.ids = RequestIds::None;
        }
        is_other
    }

    /// Whether the manager has sent a `managerId`. Then request ids are not needed to identify it.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.manager, Manager::Named(_))
    }

    /// Records a request, which `is_first` on its connection or a later one. Returns whether it
    /// proves that the manager is another one than before.
    pub(super) fn request_received(&mut self, id: &RequestId, is_first: bool) -> bool {
        if self.is_named() {
            return false;
        }
        // Official managers start at 1, so 0 belongs to another kind of manager.
        let number = id.number().filter(|number| *number > 0);
        let has_restarted = match (self.ids, number) {
            (RequestIds::Increasing(last), Some(number)) => is_first && number <= last,
            _ => false,
        };
        self.ids = match (self.ids, number) {
            (RequestIds::None, Some(number)) => RequestIds::Increasing(number),
            (RequestIds::Increasing(last), Some(number)) if has_restarted || number > last => {
                RequestIds::Increasing(number)
            }
            _ => RequestIds::Other,
        };
        has_restarted
    }

    /// Another manager sent this request: its numbering begins here.
    pub(super) fn restart_with(&mut self, id: &RequestId) {
        self.ids = RequestIds::None;
        self.request_received(id, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the `managerId` and the request ids of each connection. `expected` says for which
    /// of them another manager is detected.
    fn check(connections: &[(Option<&str>, &[&str])], expected: &[bool]) {
        let mut manager = ManagerIdentity::default();
        let seen = connections.iter().map(|(name, ids)| {
            let mut is_other = manager.registered(*name);
            for (place, id) in ids.iter().enumerate() {
                let id = RequestId::new(&format!("\"{id}\"")).unwrap();
                is_other |= manager.request_received(&id, place == 0);
            }
            is_other
        });
        assert_eq!(seen.collect::<Vec<_>>(), expected, "{connections:?}");
    }

    #[test]
    fn another_manager_is_detected_by_its_id_or_by_request_ids_that_start_again() {
        let (a, b) = (Some("a"), Some("b"));
        // The `managerId` decides, whatever the request ids are.
        check(&[(a, &["0"]), (a, &["0"]), (a, &["0", "7", "1"])], &[false; 3]);
        check(&[(a, &["5"]), (b, &["6"]), (a, &["7"])], &[false, true, true]);
        check(&[(a, &["5"]), (None, &["6"]), (b, &[])], &[false, true, true]);
        // Numbers continue, or start again.
        check(&[(None, &["1", "2"]), (None, &["3"]), (None, &["9"])], &[false; 3]);
        check(&[(None, &["1", "2"]), (None, &["1"]), (None, &["2"])], &[false, true, false]);
        check(&[(None, &["1"]), (None, &[]), (None, &["1"])], &[false, false, true]);
        check(&[(None, &["4", "6"]), (None, &["5"])], &[false, true]);
        // Ids that are not increasing numbers prove nothing.
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
