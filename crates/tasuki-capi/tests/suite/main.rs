//! C programs against the header and the library.
