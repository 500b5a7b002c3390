//! The handlers of `/api/v1`.

pub(crate) mod actions;
pub(crate) mod apps;
pub(crate) mod datasets;
pub(crate) mod evaluations;
pub(crate) mod info;
pub(crate) mod runs;
pub(crate) mod runtimes;
