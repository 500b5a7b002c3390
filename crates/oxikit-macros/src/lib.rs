//! The #[tool] attribute of oxikit.
