/* SPDX-License-Identifier: MIT */
/* Functions that fusion clients link for other parts of their networks. Each answers
 * miopenStatusNotImplemented and touches nothing. */
#ifndef FUSEPLAN_MIOPEN_UNSUPPORTED_H
#define FUSEPLAN_MIOPEN_UNSUPPORTED_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Enumerations of theirs --------------------------------------------------------------- */

typedef enum FUSEPLAN_MIOPEN_INT {
  miopenLRNWithinChannel = 0,
  miopenLRNCrossChannel = 1
} miopenLRNMode_t;
typedef enum FUSEPLAN_MIOPEN_INT {
  miopenRNNRELU = 0,
  miopenRNNTANH = 1,
  miopenLSTM = 2,
  miopenGRU = 3
} miopenRNNMode_t;
typedef enum FUSEPLAN_MIOPEN_INT { miopenRNNlinear = 0, miopenRNNskip = 1 } miopenRNNInputMode_t;
typedef enum FUSEPLAN_MIOPEN_INT { miopenRNNdefault = 0, miopenRNNfundamental = 1 } miopenRNNAlgo_t;
typedef enum FUSEPLAN_MIOPEN_INT {
  miopenRNNunidirection = 0,
  miopenRNNbidirection = 1
} miopenRNNDirectionMode_t;
typedef enum FUSEPLAN_MIOPEN_INT { miopenRNNNoBias = 0, miopenRNNwithBias = 1 } miopenRNNBiasMode_t;

/* ---- Convolutions backward ---------------------------------------------------------------------
 */

MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardDataGetWorkSpaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t dyDesc, miopenTensorDescriptor_t wDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t dxDesc, size_t* workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeightsGetWorkSpaceSize(
    miopenHandle_t handle, miopenTensorDescriptor_t dyDesc, miopenTensorDescriptor_t xDesc,
    miopenConvolutionDescriptor_t convDesc, miopenTensorDescriptor_t dwDesc, size_t* workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardDataAlgorithm(
    miopenHandle_t handle, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenTensorDescriptor_t dxDesc, void* dx, int requestAlgoCount, int* returnedAlgoCount,
    miopenConvAlgoPerf_t* perfResults, void* workSpace, size_t workSpaceSize,
    bool exhaustiveSearch);
MIOPEN_EXPORT miopenStatus_t miopenFindConvolutionBackwardWeightsAlgorithm(
    miopenHandle_t handle, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t xDesc, const void* x, miopenConvolutionDescriptor_t convDesc,
    miopenTensorDescriptor_t dwDesc, void* dw, int requestAlgoCount, int* returnedAlgoCount,
    miopenConvAlgoPerf_t* perfResults, void* workSpace, size_t workSpaceSize,
    bool exhaustiveSearch);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardData(
    miopenHandle_t handle, const void* alpha, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t wDesc, const void* w, miopenConvolutionDescriptor_t convDesc,
    miopenConvBwdDataAlgorithm_t algo, const void* beta, miopenTensorDescriptor_t dxDesc, void* dx,
    void* workSpace, size_t workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardWeights(
    miopenHandle_t handle, const void* alpha, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t xDesc, const void* x, miopenConvolutionDescriptor_t convDesc,
    miopenConvBwdWeightsAlgorithm_t algo, const void* beta, miopenTensorDescriptor_t dwDesc,
    void* dw, void* workSpace, size_t workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenConvolutionBackwardBias(miopenHandle_t handle, const void* alpha,
                                                           miopenTensorDescriptor_t dyDesc,
                                                           const void* dy, const void* beta,
                                                           miopenTensorDescriptor_t dbDesc,
                                                           void* db);

/* ---- Pooling and softmax backward --------------------------------------------------------------
 */

MIOPEN_EXPORT miopenStatus_t miopenPoolingBackward(
    miopenHandle_t handle, miopenPoolingDescriptor_t poolDesc, const void* alpha,
    miopenTensorDescriptor_t yDesc, const void* y, miopenTensorDescriptor_t dyDesc, const void* dy,
    miopenTensorDescriptor_t xDesc, const void* x, const void* beta,
    miopenTensorDescriptor_t dxDesc, void* dx, void* workSpace);
MIOPEN_EXPORT miopenStatus_t miopenSoftmaxBackward(miopenHandle_t handle, const void* alpha,
                                                   miopenTensorDescriptor_t yDesc, const void* y,
                                                   miopenTensorDescriptor_t dyDesc, const void* dy,
                                                   const void* beta,
                                                   miopenTensorDescriptor_t dxDesc, void* dx);

/* ---- Local response normalisation --------------------------------------------------------------
 */

MIOPEN_EXPORT miopenStatus_t miopenCreateLRNDescriptor(miopenLRNDescriptor_t* lrnDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyLRNDescriptor(miopenLRNDescriptor_t lrnDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetLRNDescriptor(miopenLRNDescriptor_t lrnDesc,
                                                    miopenLRNMode_t mode, unsigned int lrnN,
                                                    double lrnAlpha, double lrnBeta, double lrnK);
MIOPEN_EXPORT miopenStatus_t miopenGetLRNDescriptor(miopenLRNDescriptor_t lrnDesc,
                                                    miopenLRNMode_t* mode, unsigned int* lrnN,
                                                    double* lrnAlpha, double* lrnBeta,
                                                    double* lrnK);
MIOPEN_EXPORT miopenStatus_t miopenLRNGetWorkSpaceSize(miopenTensorDescriptor_t yDesc,
                                                       size_t* workSpaceSize);
MIOPEN_EXPORT miopenStatus_t miopenLRNForward(miopenHandle_t handle, miopenLRNDescriptor_t lrnDesc,
                                              const void* alpha, miopenTensorDescriptor_t xDesc,
                                              const void* x, const void* beta,
                                              miopenTensorDescriptor_t yDesc, void* y,
                                              bool do_backward, void* workSpace);
MIOPEN_EXPORT miopenStatus_t miopenLRNBackward(miopenHandle_t handle, miopenLRNDescriptor_t lrnDesc,
                                               const void* alpha, miopenTensorDescriptor_t yDesc,
                                               const void* y, miopenTensorDescriptor_t dyDesc,
                                               const void* dy, miopenTensorDescriptor_t xDesc,
                                               const void* x, const void* beta,
                                               miopenTensorDescriptor_t dxDesc, void* dx,
                                               const void* workSpace);

/* ---- Recurrent networks ------------------------------------------------------------------------
 */

MIOPEN_EXPORT miopenStatus_t miopenCreateRNNDescriptor(miopenRNNDescriptor_t* rnnDesc);
MIOPEN_EXPORT miopenStatus_t miopenDestroyRNNDescriptor(miopenRNNDescriptor_t rnnDesc);
MIOPEN_EXPORT miopenStatus_t miopenSetRNNDescriptor(
    miopenRNNDescriptor_t rnnDesc, int hsize, int nlayers, miopenRNNInputMode_t inMode,
    miopenRNNDirectionMode_t direction, miopenRNNMode_t rnnMode, miopenRNNBiasMode_t biasMode,
    miopenRNNAlgo_t algo, miopenDataType_t dataType);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNDescriptor(
    miopenRNNDescriptor_t rnnDesc, miopenRNNMode_t* rnnMode, miopenRNNAlgo_t* algoMode,
    miopenRNNInputMode_t* inputMode, miopenRNNDirectionMode_t* dirMode,
    miopenRNNBiasMode_t* biasMode, int* hiddenSize, int* layer);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNWorkspaceSize(miopenHandle_t handle,
                                                       miopenRNNDescriptor_t rnnDesc,
                                                       int sequenceLen,
                                                       const miopenTensorDescriptor_t* xDesc,
                                                       size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNTrainingReserveSize(miopenHandle_t handle,
                                                             miopenRNNDescriptor_t rnnDesc,
                                                             int sequenceLen,
                                                             const miopenTensorDescriptor_t* xDesc,
                                                             size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNInputTensorSize(miopenHandle_t handle,
                                                         miopenRNNDescriptor_t rnnDesc, int seqLen,
                                                         miopenTensorDescriptor_t* xDesc,
                                                         size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNHiddenTensorSize(miopenHandle_t handle,
                                                          miopenRNNDescriptor_t rnnDesc, int seqLen,
                                                          miopenTensorDescriptor_t* xDesc,
                                                          size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNParamsSize(miopenHandle_t handle,
                                                    miopenRNNDescriptor_t rnnDesc,
                                                    miopenTensorDescriptor_t xDesc,
                                                    size_t* numBytes, miopenDataType_t dtype);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNParamsDescriptor(miopenHandle_t handle,
                                                          miopenRNNDescriptor_t rnnDesc,
                                                          miopenTensorDescriptor_t xDesc,
                                                          miopenTensorDescriptor_t wDesc,
                                                          miopenDataType_t dtype);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerParamSize(miopenHandle_t handle,
                                                        miopenRNNDescriptor_t rnnDesc, int layer,
                                                        miopenTensorDescriptor_t xDesc, int paramID,
                                                        size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerBiasSize(miopenHandle_t handle,
                                                       miopenRNNDescriptor_t rnnDesc, int layer,
                                                       int biasID, size_t* numBytes);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerParam(miopenHandle_t handle,
                                                    miopenRNNDescriptor_t rnnDesc, int layer,
                                                    miopenTensorDescriptor_t xDesc,
                                                    miopenTensorDescriptor_t wDesc, const void* w,
                                                    int paramID, miopenTensorDescriptor_t paramDesc,
                                                    void* layerParam);
MIOPEN_EXPORT miopenStatus_t miopenGetRNNLayerBias(miopenHandle_t handle,
                                                   miopenRNNDescriptor_t rnnDesc, int layer,
                                                   miopenTensorDescriptor_t xDesc,
                                                   miopenTensorDescriptor_t wDesc, const void* w,
                                                   int biasID, miopenTensorDescriptor_t biasDesc,
                                                   void* layerBias);
MIOPEN_EXPORT miopenStatus_t miopenSetRNNLayerParam(miopenHandle_t handle,
                                                    miopenRNNDescriptor_t rnnDesc, int layer,
                                                    miopenTensorDescriptor_t xDesc,
                                                    miopenTensorDescriptor_t wDesc, void* w,
                                                    int paramID, miopenTensorDescriptor_t paramDesc,
                                                    const void* layerParam);
MIOPEN_EXPORT miopenStatus_t miopenSetRNNLayerBias(miopenHandle_t handle,
                                                   miopenRNNDescriptor_t rnnDesc, int layer,
                                                   miopenTensorDescriptor_t xDesc,
                                                   miopenTensorDescriptor_t wDesc, void* w,
                                                   int biasID, miopenTensorDescriptor_t biasDesc,
                                                   const void* layerBias);
MIOPEN_EXPORT miopenStatus_t miopenRNNForwardTraining(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, int sequenceLen,
    const miopenTensorDescriptor_t* xDesc, const void* x, miopenTensorDescriptor_t hxDesc,
    const void* hx, miopenTensorDescriptor_t cxDesc, const void* cx, miopenTensorDescriptor_t wDesc,
    const void* w, const miopenTensorDescriptor_t* yDesc, void* y, miopenTensorDescriptor_t hyDesc,
    void* hy, miopenTensorDescriptor_t cyDesc, void* cy, void* workSpace, size_t workSpaceNumBytes,
    void* reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNForwardInference(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, int sequenceLen,
    const miopenTensorDescriptor_t* xDesc, const void* x, miopenTensorDescriptor_t hxDesc,
    const void* hx, miopenTensorDescriptor_t cxDesc, const void* cx, miopenTensorDescriptor_t wDesc,
    const void* w, const miopenTensorDescriptor_t* yDesc, void* y, miopenTensorDescriptor_t hyDesc,
    void* hy, miopenTensorDescriptor_t cyDesc, void* cy, void* workSpace, size_t workSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardData(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, int sequenceLen,
    const miopenTensorDescriptor_t* yDesc, const void* y, const miopenTensorDescriptor_t* dyDesc,
    const void* dy, miopenTensorDescriptor_t dhyDesc, const void* dhy,
    miopenTensorDescriptor_t dcyDesc, const void* dcy, miopenTensorDescriptor_t wDesc,
    const void* w, miopenTensorDescriptor_t hxDesc, const void* hx, miopenTensorDescriptor_t cxDesc,
    const void* cx, const miopenTensorDescriptor_t* dxDesc, void* dx,
    miopenTensorDescriptor_t dhxDesc, void* dhx, miopenTensorDescriptor_t dcxDesc, void* dcx,
    void* workSpace, size_t workSpaceNumBytes, void* reserveSpace, size_t reserveSpaceNumBytes);
MIOPEN_EXPORT miopenStatus_t miopenRNNBackwardWeights(
    miopenHandle_t handle, miopenRNNDescriptor_t rnnDesc, int sequenceLen,
    const miopenTensorDescriptor_t* xDesc, const void* x, miopenTensorDescriptor_t hxDesc,
    const void* hx, const miopenTensorDescriptor_t* yDesc, const void* y,
    miopenTensorDescriptor_t dwDesc, void* dw, void* workSpace, size_t workSpaceNumBytes,
    const void* reserveSpace, size_t reserveSpaceNumBytes);

#ifdef __cplusplus
}
#endif

#endif /* FUSEPLAN_MIOPEN_UNSUPPORTED_H */
