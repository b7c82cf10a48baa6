"""Provider `runpod`: pods of Runpod, on demand, and interruptible ones where an account still has them."""
