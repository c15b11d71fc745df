/* SPDX-License-Identifier: MIT */
/* What the driver reports about a device. */
#include "counters/counters.h"
#include "pyext/py_state.h"

static PyObject *maybe_object(sl_maybe_u64 value) {
    return value.known ? PyLong_FromUnsignedLongLong(value.value) : sl_py_none();
}

static sl_status read_device(int device, sl_device_sample *sample, sl_error *err) {
    const sl_counters_ops *ops = sl_counters_open(err);
    if (!ops)
        return err->code;
    sl_status status = ops->read(device, sample, err);
    ops->close();
    return status;
}

static PyObject *device_counters(PyObject *module, PyObject *args) {
    int device = 0;
    if (!PyArg_ParseTuple(args, "|i", &device))
        return NULL;
    sl_device_sample sample = {0};
    sl_error err = SL_ERROR_INIT;
    sl_status status;
    /* The GIL is kept: the back end supports one thread at a time. */
    status = read_device(device, &sample, &err);
    if (status < 0)
        return sl_py_raise(&sl_py_state_of(module)->errors, &err);
    return Py_BuildValue(
        "{s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "used_bytes", maybe_object(sample.used_bytes),
        "total_bytes", maybe_object(sample.total_bytes), "process_bytes",
        maybe_object(sample.process_bytes), "others_bytes", maybe_object(sample.others_bytes),
        "utilization_percent", maybe_object(sample.utilization_pct), "temperature_c",
        maybe_object(sample.temperature_c), "power_mw", maybe_object(sample.power_mw));
}

PyMethodDef sl_py_counters_methods[] = {
    {"device_counters", device_counters, METH_VARARGS,
     "device_counters($module, device=0, /)\n--\n\n"
     "The driver's figures for a device, as the program numbers it; unknown ones are None.\n"
     "Raises DeviceError where there is no driver or no such device."},
    {NULL, NULL, 0, NULL},
};
