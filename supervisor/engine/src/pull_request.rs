//! How finished work is cut into pull requests, and what each is based on (spec `batch-manifest-and-settings` 10).
