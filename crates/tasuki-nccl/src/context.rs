//! What a call of `init` makes: one for each communicator from version 11 of the interface on, one for the
//! process before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tasuki_engine::Options;

use crate::error::{Code, Error};
use crate::log::Log;
use crate::net::Net;

/// NCCL's context: the way to an endpoint. There is one endpoint while there are connections or listeners,
/// and from `init` on, so that what keeps it from opening is known before NCCL settles on this network.
pub(crate) struct Context {
    pub log: Log,
    net: Mutex<Option<Arc<Net>>>,
    /// It is that of the process.
    is_shared: bool,
}

impl Context {
    /// That of one communicator.
    pub fn open(log: Log) -> Result<Context, Error> {
        Context::open_as(log, false)
    }

    fn open_as(log: Log, is_shared: bool) -> Result<Context, Error> {
        let context = Context { log, net: Mutex::new(None), is_shared };
        context.net()?;
        Ok(context)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Net>>> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint; a new one if there is none, or if an aborted communicator has given it up.
    pub fn net(&self) -> Result<Arc<Net>, Error> {
        let mut net = self.lock();
        if let Some(net) = net.as_ref().filter(|net| !net.is_given_up()) {
            return Ok(Arc::clone(net));
        }
        let options = Options::from_env().map_err(|error| Error::new(Code::Usage, error))?;
        let opened = Arc::new(Net::open(&options, self.log, self.is_shared)?);
        *net = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Closes the endpoint if no connection and no listener is left. The next one opens another.
    pub fn close_if_idle(&self) {
        let idle = {
            let mut net = self.lock();
            // References are made only under this lock.
            if net.as_ref().is_some_and(|net| Arc::strong_count(net) == 1) { net.take() } else { None }
        };
        // Closing waits for acknowledgements, which nobody else should wait for.
        drop(idle);
    }
}

/// The context of the process, for versions of the interface whose calls name none.
static OF_PROCESS: Mutex<Option<Arc<Context>>> = Mutex::new(None);

/// Makes the context of the process, unless it is there.
pub(crate) fn open_for_process(log: Log) -> Result<(), Error> {
    let mut context = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if context.is_none() {
        *context = Some(Arc::new(Context::open_as(log, true)?));
    }
    Ok(())
}

/// The context of the process.
pub(crate) fn of_process() -> Result<Arc<Context>, Error> {
    let context = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    context.clone().ok_or_else(|| Error::new(Code::Internal, "init was not called"))
}
