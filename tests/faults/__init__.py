"""Faults of the driver and the host: nothing crashes, hangs or shows a wrong value without a reason.

tests/api/test_device_contract.py proves that no getter raises. These tests prove that samples, screens
and programs show correct values or none, explain what is missing, and recover.
"""
