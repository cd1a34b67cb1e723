//! What is known against the crates of a `Cargo.lock`, by the snapshot of the RustSec database in `advisories/`.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use rustsec::{Database, Lockfile, advisory::Informational, report::Settings};

/// The advisories of the crates that we have, and the names of all crates that there were any of.
pub struct Snapshot {
    advisories: Database,
    known: BTreeSet<String>,
}

/// One advisory about one crate of a lockfile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// `RUSTSEC-2026-0001`
    pub id: String,
    /// What, of which crate, and what to do.
    pub words: String,
}

impl Snapshot {
    pub fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let known = std::fs::read_to_string(folder.join("known-crates.txt"))?;
        Ok(Self { advisories: Database::open(folder)?, known: known.lines().map(str::to_owned).collect() })
    }

    /// Vulnerabilities, and crates that are unsound or that nobody looks after.
    pub fn findings(&self, lockfile: &str) -> Result<Vec<Finding>, Box<dyn Error>> {
        let lockfile: Lockfile = lockfile.parse()?;
        let informational_warnings = vec![Informational::Notice, Informational::Unmaintained, Informational::Unsound];
        let settings = Settings { informational_warnings, ..Settings::default() };
        let report = rustsec::Report::generate(&self.advisories, &lockfile, &settings);
        let vulnerable = report.vulnerabilities.list.iter().map(|found| {
            let patched: Vec<String> = found.versions.patched().iter().map(ToString::to_string).collect();
            let cure = if patched.is_empty() {
                "no version is without it".into()
            } else {
                format!("without it: {}", patched.join(", "))
            };
            finding(&found.advisory, &found.package, "vulnerable", &cure)
        });
        let warned = report.warnings.values().flatten().filter_map(|warning| {
            let advisory = warning.advisory.as_ref()?;
            Some(finding(advisory, &warning.package, warning.kind.as_str(), "another crate, or another version, may do"))
        });
        let mut findings: Vec<Finding> = vulnerable.chain(warned).collect();
        findings.sort();
        Ok(findings)
    }

    /// Crates of a lockfile that there are advisories of, but not in this snapshot.
    pub fn not_looked_at(&self, lockfile: &str) -> Result<Vec<String>, Box<dyn Error>> {
        let lockfile: Lockfile = lockfile.parse()?;
        let has: BTreeSet<&str> = self.advisories.iter().map(|advisory| advisory.metadata.package.as_str()).collect();
        let names: BTreeSet<&str> = lockfile.packages.iter().map(|package| package.name.as_str()).collect();
        Ok(names.into_iter().filter(|name| self.known.contains(*name) && !has.contains(name)).map(str::to_owned).collect())
    }
}

fn finding(advisory: &rustsec::advisory::Metadata, package: &rustsec::package::Package, kind: &str, cure: &str) -> Finding {
    let words = format!("{} {} is {kind}: {} ({cure})", package.name, package.version, advisory.title);
    Finding { id: advisory.id.to_string(), words }
}
