//! The table against the workspace: the code that uses it, the documentation, the commands that it names.

mod commands;
mod documentation;
mod entries;
mod source;
mod workspace;
