//! Writing of objects whose members depend on the version.

use serde::Serialize;
use serde::ser::SerializeMap;

/// The members of an object that is written.
pub(crate) struct Members<M>(pub(crate) M);

impl<M: SerializeMap> Members<M> {
    pub(crate) fn put<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }

    /// Nothing is written for `None`.
    pub(crate) fn put_some<T: Serialize>(
        &mut self,
        name: &'static str,
        value: Option<T>,
    ) -> Result<(), M::Error> {
        match value {
            Some(value) => self.put(name, &value),
            None => Ok(()),
        }
    }

    /// Nothing is written for an empty list.
    pub(crate) fn put_list(
        &mut self,
        name: &'static str,
        list: &[impl Serialize],
    ) -> Result<(), M::Error> {
        self.put_some(name, (!list.is_empty()).then_some(list))
    }

    /// Nothing is written for `false`.
    pub(crate) fn put_true(&mut self, name: &'static str, value: bool) -> Result<(), M::Error> {
        self.put_some(name, value.then_some(true))
    }

    pub(crate) fn end(self) -> Result<M::Ok, M::Error> {
        self.0.end()
    }
}
