# Its flags must be there before a test saves all flags: what is defined after that
# is gone when they are restored, and the library reads its own ever after.
from array_record.python import array_record_data_source as _  # noqa: F401
