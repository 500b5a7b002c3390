//! The handlers of `/api/v1`.

pub(crate) mod apps;
pub(crate) mod info;
pub(crate) mod runtimes;
