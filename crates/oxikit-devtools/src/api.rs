//! The handlers of `/api/v1`, one module per subject. A handler parses its request, calls the crate of
//! the subject and writes the response; the table of paths is in `routes`.

pub(crate) mod a2a;
pub(crate) mod actions;
pub(crate) mod apps;
pub(crate) mod datasets;
pub(crate) mod doctor;
pub(crate) mod evaluations;
pub(crate) mod events;
pub(crate) mod info;
pub(crate) mod runs;
pub(crate) mod runtimes;
pub(crate) mod sign_in;
