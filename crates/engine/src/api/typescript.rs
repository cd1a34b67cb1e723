//! The TypeScript of the wire, generated from the method list and the types, checked in as `ui/src/host/api.ts`.
//! `cargo test -p mework-engine typescript` fails when the file is stale and says how to write it again.

use std::collections::BTreeMap;

use ts_rs::{Config, TS, TypeVisitor};

/// Collects the declaration of every type reachable from those visited.
pub(super) struct Declarations {
    config: Config,
    by_name: BTreeMap<String, String>,
}

impl Declarations {
    pub(super) fn new() -> Self {
        Self { config: Config::new().with_large_int("number"), by_name: BTreeMap::new() }
    }
    pub(super) fn add<T: TS + 'static + ?Sized>(&mut self) -> String {
        <Self as TypeVisitor>::visit::<T>(self);
        T::name(&self.config)
    }
    pub(super) fn finish(self) -> String {
        self.by_name.into_values().map(|declaration| format!("export {declaration}\n\n")).collect()
    }
}

impl TypeVisitor for Declarations {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Primitives and wrappers have no file of their own, so there is nothing to declare, but they may hold types that do.
        if T::output_path().is_some() {
            let name = T::ident(&self.config);
            if self.by_name.contains_key(&name) {
                return;
            }
            self.by_name.insert(name, T::decl(&self.config));
        }
        T::visit_dependencies(self);
        T::visit_generics(self);
    }
}
