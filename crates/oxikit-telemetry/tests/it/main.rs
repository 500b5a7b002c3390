//! The exporters, against servers that listen.

mod application;
mod away;
mod batches;
mod collector;
mod cost;
mod logs;
mod raw_server;
mod shapes;
mod specification;
