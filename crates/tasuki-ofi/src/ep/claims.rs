//! Messages that peeks have reserved (`FI_CLAIM`).

use std::collections::HashMap;
use std::sync::Mutex;

use tasuki_engine::{Claim, Found};

use crate::abi::FI_EINVAL;
use crate::guard::{Errno, Ret, lock};

/// Messages that peeks have reserved, by the context of the peek, which the receive of a claimed message
/// repeats.
#[derive(Default)]
pub struct Claims(Mutex<HashMap<u64, (Claim, Found)>>);

impl Claims {
    /// Keeps the message that `claim` reserves, if it finds one, until the receive with the same context.
    /// `FI_EINVAL` if another message is kept under that context.
    pub fn reserve(
        &self,
        context: u64,
        claim: impl FnOnce() -> Option<(Claim, Found)>,
    ) -> Ret<Option<Found>> {
        let mut claims = lock(&self.0);
        if claims.contains_key(&context) {
            return Err(Errno(FI_EINVAL));
        }
        Ok(claim().map(|(claim, found)| {
            claims.insert(context, (claim, found));
            found
        }))
    }

    /// Takes out the message that was reserved under this context; `FI_EINVAL` if there is none.
    pub fn take(&self, context: u64) -> Ret<(Claim, Found)> {
        lock(&self.0).remove(&context).ok_or(Errno(FI_EINVAL))
    }
}
