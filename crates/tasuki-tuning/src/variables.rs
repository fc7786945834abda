//! The environment variables that programs over Tasuki read.

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The default, as it would be written.
    pub default: &'static str,
    /// The values that it takes.
    pub values: &'static str,
    /// What it does.
    pub meaning: &'static str,
}
