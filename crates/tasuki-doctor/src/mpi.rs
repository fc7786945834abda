//! Findings about MPIs: which of them can load the provider.

use crate::Finding;
use std::ffi::OsString;
use tasuki_job::{Finder, RunError, own_provider};
use tasuki_launch::{Mpi, Origin, Provider, ProviderError};

/// Findings about the provider, and about an MPI: the program's, the one that was named, or all that are
/// installed.
pub fn findings(program: Option<&OsString>, choice: Option<&str>) -> Result<Vec<Finding>, RunError> {
    let finder = Finder::local()?;
    let (mpis, meant) = match (program, choice) {
        (Some(program), choice) => (vec![finder.detect(std::slice::from_ref(program), choice)?.mpi], true),
        (None, Some(choice)) => (vec![finder.one(choice)?], true),
        (None, None) => (finder.installed(), false),
    };
    let mut all = Vec::new();
    let provider = match own_provider() {
        Ok(provider) => {
            all.push(Finding::well("provider", format!("{}", provider.library.display())));
            Some(provider)
        }
        Err(error) => {
            // The error ends in its remedy, which stands on a line of its own here.
            let what = match error {
                RunError::Provider(ProviderError::Missing { installed, built, .. }) => {
                    format!("it is neither {} nor {}", installed.display(), built.display())
                }
                error => error.to_string(),
            };
            all.push(Finding::broken("provider", what, Origin::own().restore()));
            None
        }
    };
    if mpis.is_empty() {
        all.push(Finding::broken("MPI", "none is installed", Origin::own().install_mpi()));
    }
    let each: Vec<Finding> = mpis.iter().map(|mpi| one(&finder, mpi, provider.as_ref())).collect();
    // Where several MPIs are installed, one that cannot load the provider is no fault as long as another can.
    let usable = each.iter().any(|finding| finding.remedy.is_none());
    all.extend(each.into_iter().map(|finding| match &finding.remedy {
        Some(remedy) if usable && !meant => {
            Finding::slower(&finding.about, finding.what.clone(), remedy.clone())
        }
        _ => finding,
    }));
    Ok(all)
}

fn one(finder: &Finder, mpi: &Mpi, provider: Option<&Provider>) -> Finding {
    let about = mpi.id();
    if let Err(lacks) = mpi.check_libfabric() {
        return Finding::broken(
            &about,
            lacks.to_string(),
            "choose another with --mpi, or run it with --transport tcp",
        );
    }
    let Some(provider) = provider else {
        return Finding::broken(&about, "it has libfabric, and no provider to load", Origin::own().restore());
    };
    match finder.libfabric(mpi, provider) {
        Ok(found) if found.getinfo == 0 => {
            let (major, minor) = found.version;
            let libfabric = match mpi.front(provider) {
                Some(_) => "Tasuki's libfabric, in front of its own,".to_owned(),
                None => format!("its libfabric {major}.{minor}"),
            };
            let prefix = mpi.prefix().display();
            let mended = match mpi.mended_by(provider) {
                Some(_) => {
                    "; its MPI_Mrecv, which loses data over libfabric, and its sends from several threads, \
                     which may crash, are put right (LD_PRELOAD)"
                }
                None if mpi.needs_repairs() => return loses(&about, provider),
                None => "",
            };
            Finding::well(&about, format!("{libfabric} loads the provider ({prefix}){mended}"))
        }
        Ok(found) => {
            let (major, minor) = found.version;
            let what =
                format!("its libfabric {major}.{minor} does not take the provider (error {})", found.getinfo);
            Finding::broken(
                &about,
                what,
                "see why: FI_LOG_LEVEL=info tasuki run -n 1 --transport tasuki PROGRAM",
            )
        }
        Err(error) => Finding::broken(
            &about,
            format!("its libfabric cannot be asked: {error}"),
            "tasuki run --transport tcp",
        ),
    }
}

fn loses(about: &str, provider: &Provider) -> Finding {
    let what = "over any libfabric, its MPI_Mrecv and MPI_Imrecv lose what they receive into types with \
                gaps, and programs that send from several threads may crash; the library that puts this \
                right is not beside the provider";
    Finding::broken(
        about,
        what,
        format!(
            "{}; {}/libfabric/libtasuki-openmpi.so is missing; or --transport tcp",
            Origin::own().restore(),
            provider.folder.display()
        ),
    )
}
