//! Front doors beside the native one: foreign protocols in, commands for the shards out.

pub mod http;
pub mod resp;
