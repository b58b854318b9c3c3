//! Front doors beside the native one: foreign protocols in, commands for the shards out.

pub mod http;
pub mod json;
pub mod judge;
pub mod question;
pub mod resp;
pub mod shards;
