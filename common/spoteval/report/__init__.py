"""What people read: status, tables, timelines."""
