//! The laws, tried with every input that fuzzing kept: those that lead into some corner of the code, and those that once broke
//! a law.

use std::path::Path;

use mework_laws::LAWS;

#[test]
fn laws_hold_for_what_was_kept() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, law) in LAWS {
        let mut inputs: Vec<_> = std::fs::read_dir(corpus.join(name)).unwrap().map(|item| item.unwrap().path()).collect();
        inputs.sort();
        assert!(inputs.len() > 20, "{name} has {} inputs", inputs.len());
        for input in inputs {
            println!("{}", input.display());
            law(&std::fs::read(&input).unwrap());
        }
    }
}

/// A target that no law stands behind, or a law that is not looked at, would be easy to overlook.
#[test]
fn every_law_has_its_target() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut names: Vec<_> = std::fs::read_dir(targets).unwrap().map(|item| item.unwrap().path()).collect();
    names.sort();
    let names: Vec<_> = names.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, LAWS.map(|(name, _)| name));
}
